//! Names that people give columns.

/// Names in small letters, without blanks and signs.
#[rustfmt::skip]
const NAMES: [&str; 201] = [
    // English.
    "id", "uid", "uuid", "guid", "key", "code", "number", "name", "firstname", "lastname",
    "middlename", "fullname", "surname", "forename", "givenname", "familyname", "nickname",
    "username", "login", "user", "userid", "email", "emailaddress", "mail", "phone",
    "phonenumber", "telephone", "mobile", "fax", "address", "address1", "address2", "street",
    "streetaddress", "city", "town", "zip", "zipcode", "postcode", "postalcode", "state",
    "province", "region", "county", "country", "countrycode", "continent", "latitude",
    "longitude", "location", "title", "jobtitle", "job", "position", "role", "department", "team",
    "company", "companyname", "organization", "organisation", "employer", "manager", "gender",
    "sex", "birthday", "birthdate", "dateofbirth", "date", "time", "datetime", "timestamp",
    "year", "month", "day", "created", "createdat", "createdby", "updated", "updatedat",
    "modified", "status", "type", "kind", "category", "subcategory", "class", "group", "tag",
    "tags", "label", "description", "comment", "comments", "note", "notes", "remark", "remarks",
    "text", "content", "message", "subject", "author", "publisher", "artist", "album", "genre",
    "language", "locale", "currency", "price", "amount", "quantity", "total", "product",
    "productid", "productname", "item", "sku", "brand", "model", "manufacturer", "vendor",
    "supplier", "customer", "customerid", "customername", "client", "order", "orderid",
    "orderdate", "url", "uri", "link", "website", "domain", "host", "hostname", "ip", "ipaddress",
    "file", "filename", "path", "size", "version", "value", "unit", "units", "source", "target",
    "species", "color", "colour",
    // German.
    "nummer", "vorname", "nachname", "anrede", "titel", "straße", "strasse", "plz", "ort",
    "stadt", "land", "telefon", "firma", "abteilung", "datum", "artikel", "bezeichnung",
    "beschreibung", "preis", "menge", "kunde", "bemerkung",
    // French.
    "numéro", "nom", "prénom", "prenom", "adresse", "ville", "codepostal", "pays", "téléphone",
    "titre", "prix", "entreprise",
    // Spanish.
    "número", "nombre", "apellido", "apellidos", "dirección", "direccion", "ciudad", "país",
    "teléfono", "correo", "título", "fecha", "precio", "empresa",
];
/// Bytes of the longest of them with blanks and signs.
const BYTES_MAX: usize = 24;

/// True if columns are often called so.
pub(super) fn contains(name: &str) -> bool {
    let is_short = name.len() <= BYTES_MAX;
    let letters = name.chars().filter(|c| c.is_alphanumeric()).flat_map(char::to_lowercase);
    is_short && NAMES.contains(&&*letters.collect::<String>())
}

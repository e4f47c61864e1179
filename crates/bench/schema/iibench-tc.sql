-- Tim Callaghan's iibench (tmcallaghan/iibench-mysql), as it is without character fields.
CREATE TABLE purchases_index (
    transactionid int NOT NULL AUTO_INCREMENT,
    dateandtime datetime,
    cashregisterid int NOT NULL,
    customerid int NOT NULL,
    productid int NOT NULL,
    price float NOT NULL,
    PRIMARY KEY (transactionid)
) ENGINE=InnoDB

//! Learned collations and character sets kept between loads, one file each.
//!
//! A file is [`CollationData::to_bytes`] or [`CharsetData::to_bytes`] and its CRC-32C (4 bytes,
//! big-endian). It belongs to one server version and one name; anything that does not fit is learned again.

use std::ffi::OsStr;
use std::io;
use std::path::{Path, PathBuf};

use disk::private;
use values::charset::CharsetData;
use values::collation::Verdict;
use values::{Charset, CollationData};

/// Changes whenever learning or testing would find something else about the same server.
const LEARNING_VERSION: u32 = 2;

/// Where learned collations are kept.
#[derive(Clone, Debug)]
pub struct CollationCache {
    dir: Option<PathBuf>,
}

impl CollationCache {
    /// The user's: `$XDG_CACHE_HOME/inrush`, else `~/.cache/inrush`; none without a home.
    pub fn of_user() -> CollationCache {
        let absolute = |name: &str| {
            std::env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute())
        };
        let base = absolute("XDG_CACHE_HOME").or_else(|| Some(absolute("HOME")?.join(".cache")));
        CollationCache { dir: base.map(|base| base.join("inrush")) }
    }

    /// A folder, made when first written to.
    pub fn in_dir(dir: impl Into<PathBuf>) -> CollationCache {
        CollationCache { dir: Some(dir.into()) }
    }

    /// Keeps nothing.
    pub fn none() -> CollationCache {
        CollationCache { dir: None }
    }

    /// The file of a collation of a server version.
    pub fn path(&self, server_version: &str, collation: &str) -> Option<PathBuf> {
        self.path_of("collation", server_version, collation)
    }

    fn path_of(&self, kind: &str, server_version: &str, name: &str) -> Option<PathBuf> {
        // Versions are the server's text: nothing in it may become a path.
        let safe = |c: char| if c.is_ascii_alphanumeric() || ".-+_".contains(c) { c } else { '_' };
        let version: String = server_version.chars().map(safe).take(100).collect();
        let name: String = name.chars().map(safe).take(100).collect();
        let name = format!("{kind}-{LEARNING_VERSION}-{version}-{name}");
        self.dir.as_ref().map(|dir| dir.join(name))
    }

    /// The cached collation of `charset`; None if there is none or the file is damaged.
    pub fn load(
        &self,
        server_version: &str,
        collation: &str,
        charset: Charset,
    ) -> Option<CollationData> {
        let content = read(&self.path(server_version, collation)?)?;
        let data = CollationData::from_bytes(&content, charset).ok()?;
        let fits = data.server_version == server_version
            && data.name == collation
            && data.verdict != Verdict::Untested;
        fits.then_some(data)
    }

    /// The cached character set; None if there is none or the file is damaged.
    pub(crate) fn load_charset(&self, server_version: &str, name: &str) -> Option<CharsetData> {
        let content = read(&self.path_of("characters", server_version, name)?)?;
        CharsetData::from_bytes(&content).filter(|data| data.name == name)
    }

    /// Keeps a tested collation. A failure costs time at the next load and nothing else.
    pub fn store(&self, data: &CollationData) {
        if let Some(path) = self.path(&data.server_version, &data.name) {
            // Without a place to keep it there is nobody to tell.
            let _ = write(&path, data.to_bytes());
        }
    }

    /// Keeps a tested character set; as [`CollationCache::store`].
    pub(crate) fn store_charset(&self, server_version: &str, data: &CharsetData) {
        if let Some(path) = self.path_of("characters", server_version, &data.name) {
            let _ = write(&path, data.to_bytes());
        }
    }
}

/// The content of a file whose checksum is right, in a folder that is ours alone: what was learned is
/// believed.
fn read(path: &Path) -> Option<Vec<u8>> {
    let folder = private::open(path.parent()?).ok()?;
    let mut bytes = private::read(&folder, path.file_name()?, "learned").ok()?;
    let (content, checksum) = bytes.split_last_chunk::<4>()?;
    let is_whole = crc32c::crc32c(content) == u32::from_be_bytes(*checksum);
    bytes.truncate(bytes.len() - 4);
    is_whole.then_some(bytes)
}

/// Writes a new file and renames it, so that a reader sees all of it or nothing.
fn write(path: &Path, mut content: Vec<u8>) -> io::Result<()> {
    content.extend(crc32c::crc32c(&content).to_be_bytes());
    let folder = private::make(path.parent().unwrap_or(Path::new("/")))?;
    let name = path.file_name().and_then(OsStr::to_str).unwrap_or_default();
    private::write(&folder, name, &content, "learned")
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::expect_used)]
mod tests {
    use std::fs;
    use std::os::unix::fs::PermissionsExt;

    use values::collation::WeightsBuilder;

    use super::*;

    fn data() -> CollationData {
        let mut weights = WeightsBuilder::new(1);
        weights.push(0x20, &[0x20]).unwrap();
        CollationData {
            name: "latin1_x_ci".into(),
            server_version: "10.11.0/../x".into(),
            charset: Charset::Latin1,
            pad_space: true,
            pad_unit: None,
            trims_char: false,
            lower_levels: Vec::new(),
            weights: weights.finish(),
            contractions: Vec::new(),
            verdict: Verdict::Exact,
        }
    }

    #[test]
    fn what_is_stored_is_loaded_and_damage_is_noticed() {
        let dir = tempfile::tempdir().unwrap();
        let cache = CollationCache::in_dir(dir.path().join("a/b"));
        let data = data();
        assert_eq!(cache.load(&data.server_version, &data.name, Charset::Latin1), None);
        cache.store(&data);
        assert_eq!(
            cache.load(&data.server_version, &data.name, Charset::Latin1),
            Some(data.clone())
        );
        assert_eq!(cache.load("10.11.1", &data.name, Charset::Latin1), None);
        let path = cache.path(&data.server_version, &data.name).unwrap();
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
        assert_eq!(fs::read_dir(path.parent().unwrap()).unwrap().count(), 1);
        let good = fs::read(&path).unwrap();
        for at in 0..good.len() {
            let mut bad = good.clone();
            bad[at] ^= 1;
            fs::write(&path, &bad).unwrap();
            assert_eq!(cache.load(&data.server_version, &data.name, Charset::Latin1), None);
        }
        fs::write(&path, &good).unwrap();
        assert_eq!(cache.load(&data.server_version, &data.name, Charset::Utf8mb4), None);
        fs::write(&path, &good[..good.len() / 2]).unwrap();
        assert_eq!(cache.load(&data.server_version, &data.name, Charset::Latin1), None);
    }

    #[test]
    fn a_character_set_comes_back() {
        let dir = tempfile::tempdir().unwrap();
        let cache = CollationCache::in_dir(dir.path());
        let data = CharsetData {
            name: "koi8x".into(),
            characters: vec![(0x20, Some(0x20)), (0x81, None)],
            stored: vec![(0x20, 0x20)],
            spaces: vec![0x20, 0xa0],
        };
        cache.store_charset("10.11.0/x", &data);
        assert_eq!(cache.load_charset("10.11.0/x", "koi8x"), Some(data));
        assert_eq!(cache.load_charset("10.11.0/x", "koi8y"), None);
    }

    #[test]
    fn a_folder_that_cannot_be_written_is_no_error() {
        CollationCache::in_dir("/proc/none").store(&data());
        CollationCache::none().store(&data());
        assert_eq!(CollationCache::none().load("1", "latin1_x_ci", Charset::Latin1), None);
    }
}

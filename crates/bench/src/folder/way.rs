//! The ways of loading an application.

use crate::choice::choices;

choices! {
    /// A way of loading an application.
    pub enum FolderWay {
        /// LOAD DATA LOCAL of each file, one after the other.
        LoadData = "load-data", "LOAD DATA";
        /// `mariadb-import --use-threads=8`.
        Import = "import", "mariadb-import";
        /// `inrush load FOLDER`.
        Load = "load", "inrush load";
        /// `mariadb < dump`.
        Client = "client", "mariadb < dump";
        /// `myloader --threads 8`.
        MyLoader = "myloader";
        /// `inrush replay DUMP`.
        Replay = "replay", "inrush replay";
    }
}

impl FolderWay {
    /// True if the tables are there, and the files are loaded into them.
    pub(super) fn is_of_files(self) -> bool {
        matches!(self, FolderWay::LoadData | FolderWay::Import | FolderWay::Load)
    }

    /// The way of Inrush that this one is compared with.
    pub(super) fn of_inrush(self) -> FolderWay {
        if self.is_of_files() { FolderWay::Load } else { FolderWay::Replay }
    }
}

#![doc = include_str!("../README.md")]
use std::fmt;
use std::os::raw::{c_char, c_int, c_void};

// For what these link with.
use libsqlite3_sys::sqlite3;
#[cfg(feature = "openssl")]
use openssl_sys as _;

extern "C" {
    /// The entry point, for one connection. On an error, `error_text` may be set to a text, which is
    /// freed by `sqlite3_free()`. `error_text` and `api` may be null.
    ///
    /// # Safety
    /// `db` must be an open connection, which no other thread uses meanwhile.
    pub fn sqlite3_cuckoo_init(
        db: *mut sqlite3,
        error_text: *mut *mut c_char,
        api: *const c_void,
    ) -> c_int;

    fn sqlite3_cuckoo_auto_extension() -> c_int;
}

/// SQLite's code of what went wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Error(pub c_int);

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "sqlite-cuckoo can't be registered: SQLite's code {}", self.0)
    }
}

impl std::error::Error for Error {}

/// Gives the extension to every connection that is opened afterwards. A second call changes nothing.
pub fn register() -> Result<(), Error> {
    match unsafe { sqlite3_cuckoo_auto_extension() } {
        libsqlite3_sys::SQLITE_OK => Ok(()),
        code => Err(Error(code)),
    }
}

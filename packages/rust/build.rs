//! Compiles the extension, which is one C++20 source, for the SQLite of libsqlite3-sys.
use std::env;

fn main() {
    let mut build = cc::Build::new();
    build.cpp(true).file("sqlite_cuckoo.cpp").flag("-std=c++20").warnings(false);
    build.define("SQLITE_CORE", None).define("NDEBUG", None);
    build.opt_level(2).debug(false); // unoptimized, it is several times slower

    // What libsqlite3-sys compiles, it may say the headers of. Those of this crate do for any.
    match env::var_os("DEP_SQLITE3_INCLUDE") {
        Some(folder) => build.include(folder),
        None => build.include("sqlite3"),
    };
    if env::var_os("CARGO_FEATURE_OPENSSL").is_none() {
        build.define("CUCKOO_NO_OPENSSL", None);
    } else if let Some(folders) = env::var_os("DEP_OPENSSL_INCLUDE") {
        build.includes(env::split_paths(&folders));
    }
    if env::var("CARGO_CFG_TARGET_OS").as_deref() == Ok("windows") {
        build.flag("-Wa,-mbig-obj,-muse-unaligned-vector-move");
    }
    build.compile("sqlite_cuckoo");
    println!("cargo:rerun-if-changed=sqlite_cuckoo.cpp");
}

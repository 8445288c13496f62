# Debian packages, by `cpack -G DEB`: sqlite-cuckoo has the extension, libsqlite-cuckoo-dev what a
# program is built with. packages/build.sh configures for them (prefix /usr).

# MIT and the notices of what is in our binaries; with each package.
set(generated ${PROJECT_BINARY_DIR}/packages)
include(${CMAKE_CURRENT_LIST_DIR}/third_party.cmake)
file(READ ${PROJECT_SOURCE_DIR}/LICENSE license)
file(WRITE ${generated}/copyright "${license}\n${third_party}")
foreach(package IN ITEMS extension:sqlite-cuckoo development:libsqlite-cuckoo-dev)
  string(REGEX REPLACE ":.*" "" component ${package})
  string(REGEX REPLACE ".*:" "" name ${package})
  install(FILES ${generated}/copyright
    DESTINATION ${CMAKE_INSTALL_DATAROOTDIR}/doc/${name}
    COMPONENT ${component} EXCLUDE_FROM_ALL)
  install(FILES ${PROJECT_SOURCE_DIR}/CHANGELOG.md
    DESTINATION ${CMAKE_INSTALL_DATAROOTDIR}/doc/${name}
    COMPONENT ${component} EXCLUDE_FROM_ALL)
endforeach()

set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_NAME sqlite-cuckoo)
set(CPACK_PACKAGE_VENDOR "the sqlite-cuckoo authors")
set(CPACK_PACKAGE_CONTACT "the sqlite-cuckoo authors")
set(CPACK_PACKAGE_VERSION ${PROJECT_VERSION})
set(CPACK_PACKAGING_INSTALL_PREFIX ${CMAKE_INSTALL_PREFIX})
set(CPACK_STRIP_FILES ON)
set(CPACK_COMPONENTS_ALL extension development)
set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_COMPRESSION_TYPE xz)
set(CPACK_DEBIAN_PACKAGE_RELEASE 1)
set(CPACK_DEBIAN_PACKAGE_CONTROL_STRICT_PERMISSION ON)
set(CPACK_VERBATIM_VARIABLES ON)
set(about "\
The virtual tables cuckoo_filter and bloom_filter know at once which keys are\n\
not there, flash_kv is an exact store on simulated flash memory, and hash_ring\n\
says which server has a key.\n\
.\n")
if(CMAKE_SYSTEM_PROCESSOR STREQUAL "aarch64")
  set(CPACK_DEBIAN_PACKAGE_ARCHITECTURE arm64)
elseif(CMAKE_SYSTEM_PROCESSOR STREQUAL "x86_64")
  set(CPACK_DEBIAN_PACKAGE_ARCHITECTURE amd64)
elseif(CMAKE_SYSTEM_PROCESSOR MATCHES "^i[3-6]86$")
  set(CPACK_DEBIAN_PACKAGE_ARCHITECTURE i386)
endif()

set(CPACK_DEBIAN_EXTENSION_PACKAGE_NAME sqlite-cuckoo)
set(CPACK_DEBIAN_EXTENSION_PACKAGE_SECTION database)
set(CPACK_DEBIAN_EXTENSION_DESCRIPTION
  "filters, a flash store and a hash ring as virtual tables of SQLite\n${about}\
In the sqlite3 shell, \".load cuckoo\" loads the extension.")
if(CUCKOO_PORTABLE)  # dpkg-shlibdeps would name this machine's C library
  set(CPACK_PROJECT_CONFIG_FILE ${CMAKE_CURRENT_LIST_DIR}/cpack_portable.cmake)
  set(CPACK_CUCKOO_MODULE ${PROJECT_BINARY_DIR}/cuckoo.so)
  set(CPACK_CUCKOO_GLIBC_NEED ${PROJECT_SOURCE_DIR}/packages/portable/needs.sh)
else()
  set(CPACK_DEBIAN_EXTENSION_PACKAGE_SHLIBDEPS ON)
endif()

set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_NAME libsqlite-cuckoo-dev)
set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_SECTION libdevel)
set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_DEPENDS
  "libsqlite3-dev (>= 3.40), libstdc++-12-dev | libstdc++-dev")
if(cuckoo_needs_openssl)
  string(APPEND CPACK_DEBIAN_DEVELOPMENT_PACKAGE_DEPENDS ", libssl-dev (>= 3.0)")
endif()
set(CPACK_DEBIAN_DEVELOPMENT_DESCRIPTION
  "sqlite-cuckoo to be linked into a program\n${about}\
This package has the header, the static library, a pkg-config file and a CMake\n\
package, each called sqlite_cuckoo; and the same filters, store and ring for\n\
programs in C++20 without SQLite, sqlite_cuckoo_core.")

include(CPack)

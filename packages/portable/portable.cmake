# CUCKOO_PORTABLE: a module that loads on machines with nothing but an old glibc. OpenSSL's digests
# are linked in, without the rest of it, and no glibc symbol is asked for that is newer than
# CUCKOO_GLIBC.
if(CUCKOO_LIBMD)
  message(FATAL_ERROR "CUCKOO_PORTABLE and CUCKOO_LIBMD exclude each other: the digests are OpenSSL's")
endif()
if(CUCKOO_SANITIZE OR CUCKOO_FUZZ)
  message(FATAL_ERROR "CUCKOO_PORTABLE makes a module without sanitizers: leave CUCKOO_SANITIZE empty "
    "and CUCKOO_FUZZ off")
endif()

if(NOT DEFINED OPENSSL_CRYPTO_LIBRARY)
  set(CUCKOO_FOUND_STATIC ON CACHE INTERNAL "find_package, not the user, says where libcrypto.a is")
endif()
set(OPENSSL_USE_STATIC_LIBS TRUE)
set(CUCKOO_GLIBC 2.17)

# Packed relocations need glibc 2.36; some machines' compilers ask for them. Linkers that don't know
# them need not be told.
include(CheckLinkerFlag)
check_linker_flag(CXX -Wl,--fatal-warnings,-z,nopack-relative-relocs CUCKOO_LINKER_PACKS)

function(cuckoo_make_portable module)
  if(NOT cuckoo_own_runtime)
    message(FATAL_ERROR "CUCKOO_PORTABLE needs GCC, whose C++ runtime it links in, on Linux")
  endif()
  if(NOT OPENSSL_CRYPTO_LIBRARY MATCHES "\\.a$")  # found before, when this build was no portable one
    message(FATAL_ERROR "CUCKOO_PORTABLE needs a static libcrypto, not ${OPENSSL_CRYPTO_LIBRARY}; "
      "take a new build folder")
  endif()
  target_sources(${module} PRIVATE ${PROJECT_SOURCE_DIR}/packages/portable/glibc.cpp)
  set_source_files_properties(${PROJECT_SOURCE_DIR}/packages/portable/glibc.cpp PROPERTIES
    SKIP_UNITY_BUILD_INCLUSION ON)
  target_link_options(${module} PRIVATE
    -Wl,--wrap=exp2 -Wl,--wrap=log -Wl,--wrap=log2 -Wl,--wrap=pow
    $<$<BOOL:${CUCKOO_LINKER_PACKS}>:-Wl,-z,nopack-relative-relocs>
    $<$<CONFIG:Release>:-s>)
endfunction()

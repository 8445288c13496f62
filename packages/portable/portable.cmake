# CUCKOO_PORTABLE: a module that loads on machines with nothing but an old glibc. OpenSSL's digests
# are linked in, without the rest of it, and no glibc symbol is asked for that is newer than
# CUCKOO_GLIBC.
set(OPENSSL_USE_STATIC_LIBS TRUE)
set(CUCKOO_GLIBC 2.17)

function(cuckoo_make_portable module)
  if(NOT cuckoo_own_runtime)
    message(FATAL_ERROR "CUCKOO_PORTABLE needs GCC, whose C++ runtime it links in, on Linux")
  endif()
  if(NOT OPENSSL_CRYPTO_LIBRARY MATCHES "\\.a$")  # found before, when this build was no portable one
    message(FATAL_ERROR "CUCKOO_PORTABLE needs a static libcrypto, not ${OPENSSL_CRYPTO_LIBRARY}; "
      "take a new build folder")
  endif()
  target_sources(${module} PRIVATE ${PROJECT_SOURCE_DIR}/packages/portable/glibc.cpp)
  target_link_options(${module} PRIVATE
    -Wl,--wrap=log -Wl,--wrap=log2 -Wl,--wrap=pow
    $<$<CONFIG:Release>:-s>)
endfunction()

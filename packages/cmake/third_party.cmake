# Writes packages/THIRD-PARTY.txt in the build folder: the notices that our binaries must be given
# with, taken from what they are built from.
set(third_party "Parts of this binary are the work of others.\n")

# xxHash's functions are compiled in; its licence is the comment at the head of its header.
file(READ ${XXHASH_INCLUDE_DIR}/xxhash.h xxhash LIMIT 8192)
string(REGEX MATCH "^/\\*.*BSD 2-Clause[^/]*" xxhash_found "${xxhash}")
if(NOT xxhash_found)
  message(WARNING "${XXHASH_INCLUDE_DIR}/xxhash.h has no licence at its head")
endif()
string(FIND "${xxhash}" "*/" end)
string(SUBSTRING "${xxhash}" 0 ${end} xxhash)
string(REGEX REPLACE "(^|\n) ?[/ ]\\*+ ?" "\\1" xxhash "${xxhash}")
string(STRIP "${xxhash}" xxhash)
string(APPEND third_party "\n---- xxHash\n\n${xxhash}\n")

if(CUCKOO_PORTABLE)
  set(apache /usr/share/common-licenses/Apache-2.0)  # Debian's
  set(text "It is in the file LICENSE.txt of OpenSSL's sources.")
  if(EXISTS ${apache})
    file(READ ${apache} text)
  endif()
  string(APPEND third_party "\n---- OpenSSL: its digests\n\n"
    "Copyright 1995-2023 The OpenSSL Project Authors. All Rights Reserved.\n\n"
    "Licensed under the Apache License 2.0:\n\n${text}")
endif()
if(cuckoo_own_runtime)
  string(APPEND third_party "\n---- libstdc++ and libgcc\n\n"
    "Copyright Free Software Foundation, Inc. GNU General Public License, version 3, with the GCC\n"
    "Runtime Library Exception, version 3.1, which leaves the licence of this program as it is.\n")
endif()
file(WRITE ${generated}/THIRD-PARTY.txt "${third_party}")

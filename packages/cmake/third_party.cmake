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
if(CUCKOO_LIBMD)
  get_filename_component(directory ${LIBMD_LIBRARY} DIRECTORY)
  file(READ ${directory}/COPYING text)
  string(APPEND third_party "\n---- libmd: its digests\n\n${text}")
endif()
string(CONCAT mit
  "Permission is hereby granted, free of charge, to any person obtaining a copy of this software and\n"
  "associated documentation files (the \"Software\"), to deal in the Software without restriction,\n"
  "including without limitation the rights to use, copy, modify, merge, publish, distribute,\n"
  "sublicense, and/or sell copies of the Software, and to permit persons to whom the Software is\n"
  "furnished to do so, subject to the following conditions:\n\n"
  "The above copyright notice and this permission notice shall be included in all copies or\n"
  "substantial portions of the Software.\n\n"
  "THE SOFTWARE IS PROVIDED \"AS IS\", WITHOUT WARRANTY OF ANY KIND, EXPRESS OR IMPLIED, INCLUDING BUT\n"
  "NOT LIMITED TO THE WARRANTIES OF MERCHANTABILITY, FITNESS FOR A PARTICULAR PURPOSE AND\n"
  "NONINFRINGEMENT. IN NO EVENT SHALL THE AUTHORS OR COPYRIGHT HOLDERS BE LIABLE FOR ANY CLAIM,\n"
  "DAMAGES OR OTHER LIABILITY, WHETHER IN AN ACTION OF CONTRACT, TORT OR OTHERWISE, ARISING FROM, OUT\n"
  "OF OR IN CONNECTION WITH THE SOFTWARE OR THE USE OR OTHER DEALINGS IN THE SOFTWARE.\n\n")
if(EMSCRIPTEN)
  string(APPEND third_party "\n---- Emscripten, musl, libc++ and compiler-rt\n\n"
    "Emscripten: Copyright 2010-2022 The Emscripten Authors. musl: Copyright 2005-2020 Rich Felker, et\n"
    "al. Each is under the MIT licence:\n\n"
    "${mit}"
    "libc++ and compiler-rt are part of the LLVM Project, under the Apache License 2.0 with LLVM\n"
    "Exceptions, which asks for no notice in what they are compiled into.\n")
endif()
if(MINGW)
  set(text "Copyright 2009-2016 the mingw-w64 project. Its licences are in the file COPYING of its sources.")
  foreach(architecture IN ITEMS i686 x86-64)
    if(EXISTS /usr/share/doc/mingw-w64-${architecture}-dev/copyright)  # Debian's
      file(READ /usr/share/doc/mingw-w64-${architecture}-dev/copyright text)
    endif()
  endforeach()
  string(APPEND third_party "\n---- mingw-w64: the C runtime, winpthreads\n\n${text}")
endif()
if(CUCKOO_RUNTIME_LINKED_IN)
  string(APPEND third_party "\n---- Zig: its compiler's runtime\n\n"
    "Copyright (c) Zig contributors. Under the MIT licence:\n\n${mit}"
    "---- libc++, libc++abi\n\n"
    "They are part of the LLVM Project, under the Apache License 2.0 with LLVM Exceptions, which asks for\n"
    "no notice in what they are compiled into.\n")
elseif(cuckoo_own_runtime)
  string(APPEND third_party "\n---- libstdc++ and libgcc\n\n"
    "Copyright Free Software Foundation, Inc. GNU General Public License, version 3, with the GCC\n"
    "Runtime Library Exception, version 3.1, which leaves the licence of this program as it is.\n")
endif()
file(WRITE ${generated}/THIRD-PARTY.txt "${third_party}")

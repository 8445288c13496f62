# Compiles through ccache where it is installed, so that a second build, here or in another clone of
# the repository, compiles only the files that changed.
#
# Clones share results, because ccache sees paths below the source folder as relative ones (basedir) and
# leaves the working folder out of what it compares (nohashdir). The sloppiness is what ccache's manual
# asks for with precompiled headers. CMake passes the options with each call, so that nothing of the
# user's own configuration of ccache is needed or changed.
option(CUCKOO_CCACHE "Compile through ccache if it is installed" ON)
if(CUCKOO_CCACHE AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
  find_program(CCACHE_PROGRAM ccache)
  if(CCACHE_PROGRAM)
    set(CMAKE_CXX_COMPILER_LAUNCHER ${CMAKE_COMMAND} -E env
      CCACHE_BASEDIR=${PROJECT_SOURCE_DIR} CCACHE_NOHASHDIR=1
      CCACHE_SLOPPINESS=pch_defines,time_macros,include_file_mtime,include_file_ctime
      ${CCACHE_PROGRAM})
    if(CMAKE_CXX_COMPILER_ID MATCHES "Clang")
      add_compile_options("SHELL:-Xclang -fno-pch-timestamp")  # a header that ccache wrote has its own time
    else()
      add_compile_options(-fpch-preprocess)
    endif()
  endif()
endif()

# playground: docs/playground/'s SQLite with the four tables, and what draws their inside, for
# WebAssembly in one JavaScript file. packages/wasm/build.sh configures for it, with Emscripten.
add_executable(playground packages/wasm/bindings.cpp)
target_link_libraries(playground PRIVATE cuckoo_core cuckoo_static SQLite::SQLite3)
target_include_directories(playground SYSTEM PRIVATE ${SQLite3_INCLUDE_DIRS} ${XXHASH_INCLUDE_DIR})

set(generated ${PROJECT_BINARY_DIR}/packages)
include(${PROJECT_SOURCE_DIR}/packages/cmake/third_party.cmake)

# What the page calls of SQLite. (bindings.cpp marks its own functions.)
set(functions malloc free)
foreach(name IN ITEMS open close_v2 prepare_v2 step finalize errmsg
    bind_null bind_int bind_double bind_text bind_blob
    column_count column_name column_type column_text column_blob column_bytes)
  list(APPEND functions sqlite3_${name})
endforeach()
list(TRANSFORM functions PREPEND _)
string(JOIN "," functions ${functions})

target_link_options(playground PRIVATE
  -sSINGLE_FILE=1 -sMODULARIZE=1 -sEXPORT_NAME=openCuckoo -sENVIRONMENT=web,node
  -sALLOW_MEMORY_GROWTH=1 -sTOTAL_STACK=5MB -sFORCE_FILESYSTEM=1 -sEXIT_RUNTIME=0
  -sEXPORTED_FUNCTIONS=${functions}
  -sEXPORTED_RUNTIME_METHODS=cwrap,FS,UTF8ToString,HEAPU8,getValue)

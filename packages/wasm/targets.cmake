# For WebAssembly, with Emscripten, by packages/wasm/build.sh:
#   cuckoo_wasm   SQLite with the four tables, of the npm package: a module, and what loads it
#   playground    the same with what draws the tables' inside, in one JavaScript file
set(generated ${PROJECT_BINARY_DIR}/packages)
include(${PROJECT_SOURCE_DIR}/packages/cmake/third_party.cmake)

# What packages/wasm/api.js calls of SQLite. (The sources mark their own functions.)
set(functions malloc free)
foreach(name IN ITEMS open close close_v2 prepare_v2 step reset finalize errmsg extended_errcode
    changes txn_state malloc free sql
    clear_bindings bind_parameter_index bind_null bind_double bind_text bind_blob
    column_count data_count column_name column_type column_double column_text column_blob
    column_bytes
    value_type value_double value_text value_blob value_bytes
    result_null result_double result_text result_blob result_error
    result_error_nomem)
  list(APPEND functions sqlite3_${name})
endforeach()
list(TRANSFORM functions PREPEND _)
string(JOIN "," functions ${functions})

# "web" is anywhere: a page, a worker or Node.js. The package reads the module itself; Emscripten
# would ask Node.js for what an ES module has not.
function(cuckoo_wasm_target name)
  add_executable(${name} packages/wasm/module.cpp ${ARGN})
  target_link_libraries(${name} PRIVATE cuckoo_core cuckoo_static SQLite::SQLite3)
  target_include_directories(${name} SYSTEM PRIVATE ${SQLite3_INCLUDE_DIRS} ${XXHASH_INCLUDE_DIR})
  target_link_options(${name} PRIVATE
    -sMODULARIZE=1 -sEXPORT_NAME=openModule -sENVIRONMENT=web
    -sALLOW_MEMORY_GROWTH=1 -sTOTAL_STACK=5MB -sFORCE_FILESYSTEM=1 -sEXIT_RUNTIME=0
    -sEXPORTED_FUNCTIONS=${functions} -sEXPORTED_RUNTIME_METHODS=cwrap,FS,UTF8ToString,HEAPU8)
endfunction()
cuckoo_wasm_target(cuckoo_wasm)
cuckoo_wasm_target(playground packages/wasm/bindings.cpp packages/wasm/tables.cpp)
target_compile_definitions(playground PRIVATE SQLITE_CORE)  # tables.cpp reads ext's headers
target_link_options(playground PRIVATE -sSINGLE_FILE=1)

# Run by ctest with -P: installs BUILD, then uses it as a stranger would.
function(run)
  execute_process(COMMAND ${ARGN} RESULT_VARIABLE code OUTPUT_VARIABLE output ERROR_VARIABLE errors)
  if(NOT code EQUAL 0)
    message(FATAL_ERROR "${ARGN}\nended with ${code}\n${output}\n${errors}")
  endif()
  set(output "${output}" PARENT_SCOPE)
endfunction()

function(expect text pattern)
  if(NOT text MATCHES "${pattern}")
    message(FATAL_ERROR "expected '${pattern}' in:\n${text}")
  endif()
endfunction()

file(REMOVE_RECURSE ${WORK})
# What was installed is moved before it is used: nothing of it may know where it lay.
run(${CMAKE_COMMAND} --install ${BUILD} --prefix ${WORK}/built --config ${CONFIG})
set(prefix ${WORK}/moved/here)
file(MAKE_DIRECTORY ${WORK}/moved)
file(RENAME ${WORK}/built ${prefix})

# Our warning flags and our source tree are our own business.
file(GLOB_RECURSE exported ${prefix}/*/hone-*targets*.cmake)
if(NOT exported)
  message(FATAL_ERROR "no targets were exported")
endif()
foreach(file IN LISTS exported)
  file(READ ${file} text)
  if(text MATCHES "-W[a-z]" OR text MATCHES "-fsanitize" OR text MATCHES "hone_flags" OR text MATCHES "${SOURCE}/")
    message(FATAL_ERROR "${file} carries flags or paths of this build:\n${text}")
  endif()
endforeach()

# What only launches is promised to be small: more than half of it are the portfolios of two products.
file(GLOB_RECURSE runtime ${prefix}/libhone-runtime.so.*.*.*)
find_program(STRIP strip)
if(runtime AND STRIP AND CONFIG STREQUAL "Release" AND NOT SANITIZE)
  run(${STRIP} -o ${WORK}/runtime ${runtime})
  file(SIZE ${WORK}/runtime size)
  if(size GREATER_EQUAL 3300000)
    message(FATAL_ERROR "the runtime library has ${size} bytes stripped: 3.3 MB is too much")
  endif()
endif()

set(sanitize "")
if(SANITIZE)
  set(sanitize "-fsanitize=${SANITIZE}")
endif()
file(COPY ${SOURCE}/examples/embed DESTINATION ${WORK})
run(${CMAKE_COMMAND} -S ${WORK}/embed -B ${WORK}/embed-build -G ${GENERATOR} -DCMAKE_PREFIX_PATH=${prefix}
  -DCMAKE_CXX_COMPILER=${COMPILER} -DCMAKE_CXX_FLAGS=${sanitize} -DCMAKE_BUILD_TYPE=Release)
run(${CMAKE_COMMAND} --build ${WORK}/embed-build)
set(example ${WORK}/embed-build/tuned_softmax)

# Without a store the default runs; with one, exactly the configuration that the installed command kept.
set(store ${WORK}/S.db)
run(${example} ${store} 32 256 cpu)
expect("${output}" "\"source\": \"default\"")
set(problem softmax --device cpu --dtype f32 --shape rows=32,cols=256 --store ${store} --json)
run(${CMAKE_COMMAND} -E env --unset=HONE_WORKER ${prefix}/bin/hone tune ${problem} --budget 4trials --seed 1)
run(${prefix}/bin/hone best ${problem})
string(JSON config GET "${output}" config)
run(${example} ${store} 32 256 cpu)
expect("${output}" "\"source\": \"exact\"")
string(JSON launched GET "${output}" config)
string(REPLACE "," ";" launched "${launched}")
foreach(setting IN LISTS launched)
  string(REGEX MATCH "^(.*)=(.*)$" matched "${setting}")
  string(JSON value GET "${config}" ${CMAKE_MATCH_1})
  string(REPLACE "ON" "true" value "${value}")
  string(REPLACE "OFF" "false" value "${value}")
  if(NOT value STREQUAL CMAKE_MATCH_2)
    message(FATAL_ERROR "the example launched ${launched}; the best is ${config}")
  endif()
endforeach()
run(${example} ${store} 48 256 cpu)
expect("${output}" "\"source\": \"nearest\"")

# A strategy built against the installed headers alone is found by its file, described, scored and used.
# Who uses pkg-config, and neither CMake nor a library that Hone links, gets the same program.
find_program(PKG_CONFIG pkg-config REQUIRED)
file(GLOB_RECURSE package ${prefix}/*/hone.pc)
cmake_path(GET package PARENT_PATH package)
set(ENV{PKG_CONFIG_LIBDIR} ${package})  # instead of the system's folders: no package of what Hone links is found
set(ENV{PKG_CONFIG_PATH} "")
run(${PKG_CONFIG} --cflags hone)
separate_arguments(flags UNIX_COMMAND "${output}")
run(${PKG_CONFIG} --libs hone)
separate_arguments(libraries UNIX_COMMAND "${output}")
run(${PKG_CONFIG} --variable=libdir hone)
string(STRIP "${output}" libdir)
separate_arguments(sanitizing UNIX_COMMAND "${sanitize}")
run(${COMPILER} -std=c++20 ${sanitizing} ${flags} ${SOURCE}/examples/embed/main.cpp -o ${WORK}/by_pkg_config ${libraries} -Wl,-rpath,${libdir})
run(${WORK}/by_pkg_config ${store} 32 256 cpu)
expect("${output}" "\"source\": \"exact\"")

# A C program needs a C compiler, which links it, too.
set(c_flags -std=c99 -Wall -Wextra -Wpedantic -Werror)
run(${C_COMPILER} ${c_flags} ${sanitizing} ${flags} ${SOURCE}/examples/c_embed/main.c -o ${WORK}/c_by_pkg_config ${libraries} -lm -Wl,-rpath,${libdir})
run(${CMAKE_COMMAND} -E env --unset=HONE_WORKER ${WORK}/c_by_pkg_config ${WORK}/C.db 32 256 0.5 cpu)
expect("${output}" "\"source\": \"exact\"")
file(COPY ${SOURCE}/examples/c_embed DESTINATION ${WORK})
run(${CMAKE_COMMAND} -S ${WORK}/c_embed -B ${WORK}/c_embed-build -G ${GENERATOR} -DCMAKE_PREFIX_PATH=${prefix}
  -DCMAKE_C_COMPILER=${C_COMPILER} -DCMAKE_C_FLAGS=${sanitize} -DCMAKE_BUILD_TYPE=Release)
run(${CMAKE_COMMAND} --build ${WORK}/c_embed-build)
run(${WORK}/c_embed-build/tuned_softmax_c ${WORK}/C.db 32 256 0 cpu)
expect("${output}" "\"source\": \"exact\"")
# What only launches has the functions that launch; there is no device for it here.
file(WRITE ${WORK}/launcher.c "#include <hone/hone.h>
#include <stdio.h>
int main(void) {
  hone_engine* engine = NULL;
  hone_kernel* kernel = NULL;
  hone_error* error = NULL;
  const hone_status opened = hone_engine_open(NULL, &engine, &error);
  if (opened == HONE_SUCCESS && hone_kernel_find(engine, \"copy\", \"f32\", NULL, 0, &kernel, NULL) == HONE_SUCCESS) {
    hone_launch(kernel, NULL, NULL, 0, NULL);
  }
  printf(\"%s: %s\\n\", hone_status_name(opened), hone_error_message(error));
  hone_error_free(error);
  hone_kernel_free(kernel);
  hone_engine_close(engine);
  return 0;
}
")
run(${PKG_CONFIG} --libs hone-runtime)
separate_arguments(runtime_libraries UNIX_COMMAND "${output}")
run(${C_COMPILER} ${c_flags} ${sanitizing} ${flags} ${WORK}/launcher.c -o ${WORK}/launcher ${runtime_libraries} -Wl,-rpath,${libdir})
run(${WORK}/launcher)
expect("${output}" "success|no NVIDIA driver|cuda")

# Kernel sources are installed with all that they include.
run(${prefix}/bin/hone kernels ${prefix}/share/hone/kernels/gemm/gemm.cu --json)
expect("${output}" "gemm")

# A worker that is none is no reason to look for another one.
execute_process(COMMAND ${CMAKE_COMMAND} -E env HONE_WORKER=${WORK}/nowhere ${prefix}/bin/hone tune ${problem} --budget 4trials
  RESULT_VARIABLE code OUTPUT_VARIABLE output ERROR_VARIABLE errors)
expect("${output}${errors}" "HONE_WORKER is .*nowhere, which is no program")
if(code EQUAL 0)
  message(FATAL_ERROR "a wrong HONE_WORKER went unnoticed")
endif()

# A strategy in C needs a C compiler and the headers.
run(${PKG_CONFIG} --cflags hone-plugin)
separate_arguments(flags UNIX_COMMAND "${output}")
run(${C_COMPILER} -std=c99 -Wall -Wextra -Wpedantic -Werror -shared -fPIC ${sanitizing} ${flags} ${SOURCE}/examples/search_plugin_c/descent.c
  -o ${WORK}/descent.so)
run(${CMAKE_COMMAND} -E env --unset=HONE_WORKER ${prefix}/bin/hone tune ${problem} --budget 8trials --plugin ${WORK}/descent.so --strategy descent)
string(JSON used GET "${output}" strategy)
expect("${used}" "^descent$")

file(COPY ${SOURCE}/examples/search_plugin DESTINATION ${WORK})
run(${CMAKE_COMMAND} -S ${WORK}/search_plugin -B ${WORK}/climber -G ${GENERATOR} -DCMAKE_PREFIX_PATH=${prefix}
  -DCMAKE_CXX_COMPILER=${COMPILER} -DCMAKE_CXX_FLAGS=${sanitize} -DCMAKE_BUILD_TYPE=Release)
run(${CMAKE_COMMAND} --build ${WORK}/climber)
set(plugin ${WORK}/climber/libclimber.so)
run(${prefix}/bin/hone strategies climber --plugin ${plugin} --json)
string(JSON parameter GET "${output}" parameters 0 name)
expect("${parameter}" "^initial$")
run(${prefix}/bin/hone compare --spaces ${CMAKE_CURRENT_LIST_DIR}/toy.json --strategy ${plugin} --strategy random --budgets 5,20 --repeats 5 --json)
string(JSON strategies LENGTH "${output}" strategies)
expect("${strategies}" "^2$")
run(${CMAKE_COMMAND} -E env --unset=HONE_WORKER HONE_PLUGIN_PATH=${WORK}/climber ${prefix}/bin/hone tune ${problem} --budget 4trials --strategy climber)
string(JSON used GET "${output}" strategy)
expect("${used}" "^climber$")

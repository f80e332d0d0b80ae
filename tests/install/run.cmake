# Runs a command that must end with `rc`, and whose output must match `pattern`.
function(run rc pattern)
  execute_process(COMMAND ${ARGN} RESULT_VARIABLE result OUTPUT_VARIABLE out ERROR_VARIABLE out)
  string(REGEX REPLACE "[ \n]+" " " out_line "${out}")
  if(NOT result STREQUAL rc OR NOT out_line MATCHES "${pattern}")
    string(JOIN " " command ${ARGN})
    message(FATAL_ERROR "${command}\nends with ${result}, expected: ${rc} and '${pattern}'\n${out}")
  endif()
endfunction()

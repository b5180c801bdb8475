# Checks of an installed tree.

# A tool runs from its installed place. Its manual page and completions have
# every flag that its --help names.
function(check_tool prefix tool)
  run(${prefix}/bin/${tool} --help)
  set(help "${output}")
  set(pages ${prefix}/share/man/man1/${tool}.1
    ${prefix}/share/bash-completion/completions/${tool}
    ${prefix}/share/zsh/site-functions/_${tool})
  string(REGEX MATCHALL "\n +!?--?[a-zA-Z][^ <\n]*" options "${help}")
  set(flags "")
  foreach(option ${options})
    string(REGEX MATCHALL "--?[a-zA-Z][a-zA-Z0-9-]*" names "${option}")
    list(APPEND flags ${names})
  endforeach()
  list(LENGTH flags count)
  if(count LESS 2)
    message(FATAL_ERROR "expected flags in the help of ${tool}, got\n${help}")
  endif()
  foreach(page ${pages})
    file(READ ${page} text)
    string(REPLACE "\\-" "-" text "${text}")
    foreach(flag ${flags})
      if(NOT text MATCHES "[ '*|R,B\"]${flag}[^a-zA-Z0-9-]")
        message(FATAL_ERROR "expected ${flag} of ${tool} --help in ${page}")
      endif()
    endforeach()
  endforeach()
  check_completion(${prefix} ${tool} "${flags}")
endfunction()

# Checks that Bash completes each long flag from all letters except the last.
function(check_completion prefix tool flags)
  string(REPLACE "-" "_" function _${tool})
  set(script "source '${prefix}/share/bash-completion/completions/${tool}'\n")
  foreach(flag ${flags})
    if(flag MATCHES "^--...")
      string(REGEX REPLACE ".$" "" start "${flag}")
      string(APPEND script "COMP_WORDS=(${tool} ${start}); COMP_CWORD=1\n"
        "${function} 2>/dev/null\n"
        "[[ \" \${COMPREPLY[*]} \" =~ \\ ${flag}=?\\  ]] || "
        "{ echo 'expected ${flag}, got' \"\${COMPREPLY[@]}\"; exit 1; }\n")
    endif()
  endforeach()
  file(WRITE ${WORK}/complete.bash "${script}")
  run(bash ${WORK}/complete.bash)
endfunction()

# Checks that no program or library looks for libraries in the build folder.
function(check_libraries prefix build)
  file(GLOB binaries ${prefix}/bin/* ${prefix}/${LIBDIR}/*.so)
  list(FILTER binaries EXCLUDE REGEX "/mtp-(tune-)?chart$")
  foreach(binary ${binaries})
    run(readelf -d ${binary})
    if(output MATCHES "(RPATH|RUNPATH)[^\n]*\\[[^]]*${build}")
      message(FATAL_ERROR "expected no path into the build folder, got\n${output}")
    endif()
  endforeach()
endfunction()

_posthouse() {
    local -a found
    found=("${(@f)$("${words[1]}" complete -- "${(@)words[2,CURRENT]}" 2>/dev/null)}")
    (( ${#found} )) && [[ -n ${found[1]} ]] && compadd -a found || _files
}
(( $+functions[compdef] )) || { autoload -Uz compinit && compinit -u }
compdef _posthouse posthouse houmao-mgr

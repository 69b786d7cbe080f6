#!/bin/bash
# Notes what it is asked; `-m venv` makes an environment of links to itself.
log() { printf '%s\n' "$*" >>"$MACHINE/calls"; }
case "$*" in
  *" -c "*print*) echo python3.12-venv ;;
  *" -c "*ensurepip*) [ ! -e "$MACHINE/no-venv" ] && [ "$(cat "$0.version")" -ge 11 ] ;;
  *" -c "*) [ "$(cat "$0.version")" -ge 11 ] ;;
  *--version) echo "Python 3.$(cat "$0.version")" ;;
  "-I -m venv "*)
    log venv
    mkdir -p "$4/bin" && ln -sf "$0" "$4/bin/python" && ln -sf "$0.version" "$4/bin/python.version"
    printf '#!/bin/bash\nprintf "%%s\\n" "posthouse $*"; env\n' >"$4/bin/posthouse"
    chmod +x "$4/bin/posthouse"
    ;;
  "-I -m pip download "*)
    log "download $(basename "${@: -1}")"
    [ ! -e "$MACHINE/hold" ] || for _ in {1..500}; do [ -e "$MACHINE/go" ] && break || sleep 0.02; done
    [ ! -e "$MACHINE/no-network" ] || { echo "no route to host" >&2; exit 1; }
    ;;
  "-I -m pip install "*--editable*) log "install posthouse" ;;
  "-I -m pip install "*) log "install $(basename "${@: -1}")" ;;
  "-m pytest "*)
    log "pytest ${*:3}"
    printf 'passed\t3\nfailed\t0\nskipped\t2\tneeds root\n' >>"$POSTHOUSE_TALLY"
    ;;
  "-m "*) log "${*:2}" && [ "$2" != "$FAILING" ] ;;
esac

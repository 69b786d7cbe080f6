#!/bin/bash
# Notes what it is asked; `ci` installs three commands, unless the machine has no network.
printf '%s\n' "npm $*" >>"$MACHINE/calls"
case $1 in
  ci)
    mkdir -p node_modules/.bin
    [ ! -e "$MACHINE/hold" ] || for _ in {1..500}; do [ -e "$MACHINE/go" ] && break || sleep 0.02; done
    [ ! -e "$MACHINE/no-network" ] || { echo "npm error no route to host" >&2; exit 1; }
    touch node_modules/.bin/{claude,codex,gemini}
    ;;
  config) echo "http://me:secret@registry.invalid/" ;;
esac

#!/bin/bash
printf '%s\n' "apt-get $*" >>"$MACHINE/calls"
for package; do [ ! -d "$MACHINE/packages/$package" ] || cp -r "$MACHINE/packages/$package/." "$MACHINE/bin/"; done

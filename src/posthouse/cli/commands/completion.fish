function __posthouse_complete
    set -l words (commandline -opc) (commandline -ct)
    $words[1] complete -- $words[2..-1] 2>/dev/null
end
complete -c posthouse -a '(__posthouse_complete)'
complete -c houmao-mgr -a '(__posthouse_complete)'

"""Completions for bash, zsh, fish and PowerShell, from the commands' --help."""


def shell_quote(text):
    return "'" + text.replace("'", "'\\''") + "'"


def power_quote(text):
    return "'" + text.replace("'", "''") + "'"


def key(command):
    return " ".join(command.words)


def path_names(root):
    return sorted({name for command in root.everything() for option in command.options if option.wants_path() for name in option.names})


def value_lists(root):
    """"words of the command, option": its values."""
    return {f"{key(command)} {name}".strip(): option.values()
            for command in root.everything() for option in command.options if option.values() for name in option.names}


def switch_names(root):
    """Options after which no value follows, in any command."""
    return sorted({name for command in root.everything() for option in command.options if not option.value for name in option.names})


def words_of(command):
    return [below.words[-1] for below in command.commands], [name for option in command.options for name in option.names if name.startswith("--")]


def bash(root):
    cases = []
    for command in root.everything():
        commands, options = words_of(command)
        cases.append(f"        {shell_quote(key(command))}) commands={shell_quote(' '.join(commands))} options={shell_quote(' '.join(options))} ;;")
    values = [f"        {shell_quote(name)}) COMPREPLY=($(compgen -W {shell_quote(' '.join(values))} -- \"$current\")); return ;;"
              for name, values in value_lists(root).items()]
    text = """# bash completion for porthole
_porthole() {
    local current=${COMP_WORDS[COMP_CWORD]} previous=${COMP_WORDS[COMP_CWORD-1]} command='' commands='' options='' word i
    # bash takes --option=value apart at the sign.
    if [ "$current" = = ]; then current=''; elif [ "$previous" = = ]; then previous=${COMP_WORDS[COMP_CWORD-2]}; fi
    for ((i = 1; i < COMP_CWORD; ++i)); do
        word=${COMP_WORDS[i]}
        case " @commands@ " in
        *" ${command:+$command,}$word "*) command=${command:+$command,}$word ;;
        esac
    done
    command=${command//,/ }
    case "${command:+$command }$previous" in
@values@
    esac
    case $previous in
        @paths@) compopt -o default 2>/dev/null; COMPREPLY=(); return ;;
    esac
    case $command in
@cases@
    esac
    if [[ $current == -* ]]; then
        COMPREPLY=($(compgen -W "$options" -- "$current"))
    elif [ -n "$commands" ]; then
        COMPREPLY=($(compgen -W "$commands" -- "$current"))
    else
        compopt -o default 2>/dev/null
        COMPREPLY=()
    fi
}
complete -F _porthole porthole
"""
    every = " ".join(",".join(command.words) for command in root.everything() if command.words)
    return (text.replace("@commands@", every).replace("@values@", "\n".join(values) or "        '') ;;")
            .replace("@paths@", "|".join(path_names(root)) or "''").replace("@cases@", "\n".join(cases)))


def zsh_item(name, help):
    return shell_quote(f"{name}:{help}".replace("\\", "\\\\"))


def zsh(root):
    lines = ["#compdef porthole", "# zsh completion for porthole", "_porthole() {",
             "    local command='' word; integer i; local -a commands options",
             "    for ((i = 2; i < CURRENT; ++i)); do",
             "        word=${words[i]}",
             f"        case \" {' '.join(','.join(command.words) for command in root.everything() if command.words)} \" in",
             "        *\" ${command:+$command,}$word \"*) command=${command:+$command,}$word ;;",
             "        esac", "    done", "    command=${command//,/ }",
             "    case \"${command:+$command }${words[CURRENT-1]}\" in"]
    for name, values in value_lists(root).items():
        lines.append(f"        {shell_quote(name)}) compadd -- {' '.join(map(shell_quote, values))}; return ;;")
    lines += ["        *) ;;", "    esac", "    case ${words[CURRENT-1]} in",
              f"        {'|'.join(path_names(root)) or shell_quote('')}) _files; return ;;", "    esac", "    case $command in"]
    for command in root.everything():
        commands = " ".join(zsh_item(below.words[-1], below.summary) for below in command.commands)
        # A description may hold a colon, a name may not.
        options = " ".join(zsh_item(name, option.help) for option in command.options for name in option.names)
        lines.append(f"        {shell_quote(key(command))}) commands=({commands}) options=({options}) ;;")
    lines += ["    esac", "    if [[ $PREFIX == -* ]]; then", "        _describe option options", "    elif (( $#commands )); then",
              "        _describe command commands", "    else", "        _files", "    fi", "}",
              "if [ \"$funcstack[1]\" = _porthole ]; then _porthole \"$@\"; else compdef _porthole porthole; fi", ""]
    return "\n".join(lines)


def fish(root):
    lines = ["# fish completion for porthole", "complete -c porthole -f"]
    for command in root.everything():
        if not command.words:
            condition = "__fish_use_subcommand"
        else:
            condition = "; and ".join(f"__fish_seen_subcommand_from {word}" for word in command.words)
        below = " ".join(other.words[-1] for other in command.commands)
        for other in command.commands:
            first = condition if not command.words else f"{condition}; and not __fish_seen_subcommand_from {below}"
            lines.append(f"complete -c porthole -n {shell_quote(first)} -a {other.words[-1]} -d {shell_quote(other.summary)}")
        for option in command.options:
            names = " ".join(f"-l {name[2:]}" if name.startswith("--") else f"-s {name[1:]}" for name in option.names)
            value = ""
            if option.value:
                value = f" -x -a {shell_quote(' '.join(option.values()))}" if option.values() else " -r -F" if option.wants_path() else " -x"
            lines.append(f"complete -c porthole -n {shell_quote(condition)} {names}{value} -d {shell_quote(option.help)}")
        if command.words and not command.commands:
            lines.append(f"complete -c porthole -n {shell_quote(condition)} -F")
    return "\n".join(lines) + "\n"


def powershell(root, program="porthole"):
    lines = [f"# PowerShell completion for {program}: . this file in $PROFILE", "$table = @{"]
    for command in root.everything():
        commands, options = words_of(command)
        entries = ", ".join(f"@({power_quote(name)}, {power_quote(help)})" for name, help in
                            [*((below.words[-1], below.summary) for below in command.commands),
                             *((name, option.help) for option in command.options for name in option.names if name in options)])
        lines.append(f"    {power_quote(key(command))} = @({',' if entries.count('@(') == 1 else ''}{entries})")
    lines.append("}")
    lines.append("$values = @{")
    for name, values in value_lists(root).items():
        lines.append(f"    {power_quote(name)} = @({', '.join(map(power_quote, values))})")
    lines += ["}", f"Register-ArgumentCompleter -Native -CommandName {program} -ScriptBlock {{",
              "    param($wordToComplete, $commandAst, $cursorPosition)",
              "    $command = ''; $previous = ''",
              "    foreach ($element in @($commandAst.CommandElements | Select-Object -Skip 1)) {",
              "        $word = $element.ToString()",
              "        if ($element.Extent.EndOffset -ge $cursorPosition -and $wordToComplete) { break }",
              "        $longer = (\"$command $word\").Trim()",
              "        if ($table.ContainsKey($longer)) { $command = $longer }",
              "        $previous = $word", "    }",
              "    $found = $values[(\"$command $previous\").Trim()]",
              "    if ($found) { $entries = $found | ForEach-Object { ,@($_, $_) } } else { $entries = $table[$command] }",
              "    $entries | Where-Object { $_[0] -like \"$wordToComplete*\" -and ($wordToComplete -or $found -or $_[0] -notlike '-*') } | ForEach-Object {",
              "        [System.Management.Automation.CompletionResult]::new($_[0], $_[0], 'ParameterValue', $_[1])", "    }",
              "}.GetNewClosure()", ""]
    return "\n".join(lines)


def files(root):
    """Where each is kept in a system that has it, below /usr/share, and its text."""
    yield "bash-completion/completions/porthole", bash(root)
    yield "zsh/vendor-completions/_porthole", zsh(root)
    yield "fish/vendor_completions.d/porthole.fish", fish(root)
    yield "porthole/completions/porthole.ps1", powershell(root)

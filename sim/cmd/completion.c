/* SPDX-License-Identifier: Apache-2.0 */
/* npusim completion: a script for a shell, which asks npusim complete at each TAB and so knows no name itself. */
#include "sim/cli.h"

#include <string.h>

static const char bash[] =
    "# bash completion for npusim. The program itself tells what may follow, so this never grows old.\n"
    "\n"
    "_npusim()\n"
    "{\n"
    "\tlocal IFS=$' \\t\\n' program=${COMP_WORDS[0]/#\\~\\//$HOME/} rest=${COMP_LINE:0:COMP_POINT} words=() i word\n"
    "\t# Bash cuts words at = and :, npusim does not: what no blank separates belongs together.\n"
    "\tfor ((i = 0; i <= COMP_CWORD; i++)); do\n"
    "\t\tword=${rest%%[![:blank:]]*}\n"
    "\t\trest=${rest#\"$word\"}\n"
    "\t\tif [ -n \"$word\" ] || ((i == 0)); then words+=(''); fi\n"
    "\t\tword=${COMP_WORDS[i]}\n"
    "\t\tif ((i == COMP_CWORD)); then word=$rest; fi\n"
    "\t\trest=${rest#\"$word\"}\n"
    "\t\twords[${#words[@]} - 1]+=$word\n"
    "\tdone\n"
    "\tlocal typed=${words[${#words[@]} - 1]} breaks=${COMP_WORDBREAKS//[!=:]/} kept='' line files='' prefix kind\n"
    "\t# What readline leaves as it is.\n"
    "\tif [ -n \"$breaks\" ] && [[ $typed == *[$breaks]* ]]; then kept=${typed%\"${typed##*[$breaks]}\"}; fi\n"
    "\tCOMPREPLY=()\n"
    "\twhile IFS= read -r line; do\n"
    "\t\tif [[ $line == $'\\t'* ]]; then files=$line; else line=${line%%$'\\t'*} COMPREPLY+=(\"${line#\"$kept\"}\"); fi\n"
    "\tdone < <(\"$program\" complete -- \"${words[@]:1}\" 2>/dev/null)\n"
    "\tif ((${#COMPREPLY[@]} == 1)) && [[ ${COMPREPLY[0]} == *[=.] ]]; then compopt -o nospace 2>/dev/null; fi\n"
    "\tif [ -z \"$files\" ]; then return; fi\n"
    "\tfiles=${files#$'\\t'}\n"
    "\tprefix=${files%%$'\\t'*}\n"
    "\ttyped=${typed#\"$prefix\"}\n"
    "\ttyped=${typed#[\\\"\\']}\n"
    "\tprefix=${prefix#\"$kept\"}\n"
    "\tcompopt -o filenames 2>/dev/null\n"
    "\twhile IFS= read -r line; do\n"
    "\t\tCOMPREPLY+=(\"$prefix$line\")\n"
    "\tdone < <(\n"
    "\t\tcompgen -d -- \"$typed\"\n"
    "\t\tset -f\n"
    "\t\tkind=${files#*$'\\t'}\n"
    "\t\tif [ -z \"$kind\" ]; then compgen -f -X '!*' -- \"$typed\"; fi\n"
    "\t\tfor kind in ${kind#/}; do compgen -f -X \"!*.$kind\" -- \"$typed\"; done\n"
    "\t)\n"
    "}\n"
    "\n"
    "complete -F _npusim npusim\n";

static const char zsh[] =
    "#compdef npusim\n"
    "# zsh completion for npusim. The program itself tells what may follow, so this never grows old.\n"
    "\n"
    "_npusim()\n"
    "{\n"
    "\tlocal program=${${(Q)words[1]}/#\\~\\//$HOME/} line word doc files\n"
    "\tlocal -a before whole begun parts\n"
    "\tbefore=(\"${(@Q)words[2,CURRENT-1]}\")\n"
    "\tfor line in \"${(@f)$(\"$program\" complete -- \"${before[@]}\" \"${(Q)PREFIX}\" 2>/dev/null)}\"; do\n"
    "\t\tword=${line%%$'\\t'*} doc=${line#*$'\\t'}\n"
    "\t\tif [[ $line == $'\\t'* ]]; then\n"
    "\t\t\tfiles=$line\n"
    "\t\telif [[ $word == *[=.] ]]; then\n"
    "\t\t\tbegun+=(\"${word//:/\\\\:}${doc:+:$doc}\")\n"
    "\t\telif [[ -n $word ]]; then\n"
    "\t\t\twhole+=(\"${word//:/\\\\:}${doc:+:$doc}\")\n"
    "\t\tfi\n"
    "\tdone\n"
    "\tlocal found=1\n"
    "\tif (( $#whole )); then _describe -t words word whole && found=0; fi\n"
    "\tif (( $#begun )); then _describe -t names name begun -S '' && found=0; fi\n"
    "\tif [[ -n $files ]]; then\n"
    "\t\tparts=(\"${(@ps:\\t:)files}\")\n"
    "\t\tcompset -P \"${(b)parts[2]}\"\n"
    "\t\tif [[ $parts[3] == / ]]; then\n"
    "\t\t\t_files -/ && found=0\n"
    "\t\telif [[ -n $parts[3] ]]; then\n"
    "\t\t\t_files -g \"*.(${parts[3]// /|})\" && found=0\n"
    "\t\telse\n"
    "\t\t\t_files && found=0\n"
    "\t\tfi\n"
    "\tfi\n"
    "\treturn found\n"
    "}\n"
    "\n"
    "if [[ ${funcstack[1]} == _npusim ]]; then _npusim \"$@\"; else compdef _npusim npusim; fi\n";

static const char fish[] =
    "# fish completion for npusim. The program itself tells what may follow, so this never grows old.\n"
    "\n"
    "function __npusim_complete\n"
    "\tset -l before (commandline -opc)\n"
    "\tset -l typed (commandline -ct)\n"
    "\tset -l program (string replace -r '^~/' $HOME/ -- $before[1])\n"
    "\tfor line in ($program complete -- $before[2..-1] \"$typed\" 2>/dev/null)\n"
    "\t\tif not string match -q \\t'*' -- $line\n"
    "\t\t\techo $line\n"
    "\t\t\tcontinue\n"
    "\t\tend\n"
    "\t\tset -l parts (string split \\t -- $line)\n"
    "\t\tset -l kinds (string split -n ' ' -- $parts[3])\n"
    "\t\tset -l begun (string sub -s (math (string length -- \"$parts[2]\") + 1) -- \"$typed\")\n"
    "\t\tset -l path (string replace -r '^~/' $HOME/ -- \"$begun\")\n"
    "\t\tfor file in \"$path\"*\n"
    "\t\t\tset -l word $parts[2]$begun(string sub -s (math (string length -- \"$path\") + 1) -- $file)\n"
    "\t\t\tif test -d $file\n"
    "\t\t\t\techo $word/\n"
    "\t\t\telse if test -z \"$kinds\"; or contains -- (string match -r '[^.]*$' -- $file) $kinds\n"
    "\t\t\t\techo $word\n"
    "\t\t\tend\n"
    "\t\tend\n"
    "\tend\n"
    "end\n"
    "\n"
    "complete -c npusim -f -a '(__npusim_complete)'\n";

static int run(struct cli *cli)
{
	static const struct {
		const char *shell, *script;
	} scripts[] = { { "bash", bash }, { "zsh", zsh }, { "fish", fish } };
	for (unsigned i = 0; i < sizeof scripts / sizeof *scripts; i++)
		if (strcmp(scripts[i].shell, cli->words[0]) == 0) {
			fputs(scripts[i].script, stdout);
			return 0;
		}
	return cli_usage("completion %.40s: bash, zsh or fish would be right", cli->words[0]);
}

const struct cli_command cmd_completion = {
	.name = "completion",
	.synopsis = "bash|zsh|fish",
	.summary = "print a script that lets a shell complete command lines of npusim",
	.text = "TAB then completes commands, options and their arguments, kernels, parameters of kernels and of .npu files with "
		"their choices, presets, hardware keys and files. An installed npusim has the scripts where shells look for them; otherwise:\n"
		"\n"
		"  source <(npusim completion bash)        # in ~/.bashrc\n"
		"  source <(npusim completion zsh)         # in ~/.zshrc, behind compinit\n"
		"  npusim completion fish | source         # in ~/.config/fish/config.fish\n",
	.min_words = 1,
	.max_words = 1,
	.run = run,
};

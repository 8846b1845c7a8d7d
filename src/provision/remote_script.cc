#include "provision/remote_script.h"

#include "base/base64.h"
#include "base/strings.h"

namespace porthole::provision {
namespace {

constexpr std::size_t MostAnswers = 50, MostPrinted = 1000;

/// In `quotes`; what would end them becomes `escape`.
std::string quoted(std::string_view text, std::string_view escape) {
    std::string word = "'";
    for (const char c : text) {
        if (c == '\'')
            word += escape;
        else
            word += c;
    }
    return word + "'";
}

/// Little-endian UTF-16 of UTF-8 without characters beyond ASCII replaced: descriptions allow none in what becomes part of a script.
std::string to_utf16(std::string_view text) {
    std::string bytes;
    for (const char c : text) {
        bytes += static_cast<unsigned char>(c) < 0x80 ? c : '?';
        bytes += '\0';
    }
    return bytes;
}

std::string printable(std::string_view text) {
    std::string line;
    for (const char c : text) line += static_cast<unsigned char>(c) < ' ' || c == 0x7f ? ' ' : c;
    return line;
}

}  // namespace

std::string quote_for_shell(const std::vector<std::string>& words) {
    return join(words, " ", [](const std::string& word) { return quoted(word, R"('\'')"); });
}

std::string quote_for_powershell(std::string_view text) { return quoted(text, "''"); }

std::string powershell_command(std::string_view script) {
    return "powershell.exe -NoProfile -NonInteractive -ExecutionPolicy Bypass -EncodedCommand " + encode_base64(to_utf16(script));
}

std::map<std::string, std::string> parse_answers(std::string_view output) {
    std::map<std::string, std::string> answers;
    for (const std::string_view line : split_views(output, '\n')) {
        const std::size_t equals = line.find('=');
        if (equals == line.npos || equals == 0) continue;
        if (answers.size() == MostAnswers) break;
        answers.emplace(line.substr(0, equals), printable(trim(line.substr(equals + 1))));
    }
    return answers;
}

Result<void> check_output(const CommandOutput& done, const std::string& what) {
    if (done.exit_code == 0) return {};
    std::string_view said = trim(done.errors).empty() ? trim(done.output) : trim(done.errors);
    if (said.size() > MostPrinted) said.remove_prefix(said.size() - MostPrinted);
    const std::string why = said.empty() ? "it ended with " + std::to_string(done.exit_code) : printable(said);
    return Error(Reason::Io, what + ": " + why);
}

}  // namespace porthole::provision

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

/// Little-endian UTF-16 of UTF-8 without characters beyond ASCII replaced: machine_description.cc allows none in what becomes part of a
/// script.
std::string to_utf16(std::string_view text) {
    std::string bytes;
    for (const char c : text) {
        bytes += static_cast<unsigned char>(c) < 0x80 ? c : '?';
        bytes += '\0';
    }
    return bytes;
}

}  // namespace

std::string quote_for_shell(const std::vector<std::string>& words) {
    return join(words, " ", [](const std::string& word) { return quoted(word, R"('\'')"); });
}

std::string printable(std::string_view text) {
    if (text.size() > MostPrinted) text.remove_prefix(text.size() - MostPrinted);
    const auto byte = [&](std::size_t at) { return at < text.size() ? static_cast<unsigned char>(text[at]) : 0U; };
    std::string line;
    for (std::size_t i = 0; i < text.size(); ++i) {
        // U+0080 to U+009F are control characters, and U+009B begins an escape sequence as ESC [ does.
        const bool is_c1 = byte(i) == 0xc2 && byte(i + 1) >= 0x80 && byte(i + 1) < 0xa0;
        line += byte(i) < ' ' || byte(i) == 0x7f || is_c1 ? ' ' : text[i];
        i += is_c1 ? 1 : 0;
    }
    return line;
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
    const std::string_view said = trim(done.errors).empty() ? trim(done.output) : trim(done.errors);
    const std::string why = said.empty() ? "it ended with " + std::to_string(done.exit_code) : printable(said);
    return Error(Reason::Io, what + ": " + why);
}

}  // namespace porthole::provision

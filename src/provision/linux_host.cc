#include "provision/linux_host.h"

#include <algorithm>
#include <cctype>

#include "provision/remote_script.h"

namespace porthole::provision {
namespace {

using namespace std::chrono_literals;

constexpr Duration KillMargin = 20s;  ///< for the connection, and for timeout(1) to kill
constexpr int EndedByTimeout = 124;   ///< exit code of timeout(1)

/// $1: the folder of the upload, which is the user's; $2: what its hash must be, looked at where the user cannot write.
constexpr const char* Unpack =
    "set -e\n"
    "install -o 0 -g 0 -m 0755 \"$1/porthole\" " PORTHOLE_PROGRAM
    ".new\n"
    "rm -rf \"$1\"\n"
    "[ \"$(sha256sum <" PORTHOLE_PROGRAM
    ".new | cut -c1-64)\" = \"$2\" ] || { echo 'the program arrived changed' >&2; exit 1; }\n"
    "sync " PORTHOLE_PROGRAM ".new\n" PORTHOLE_PROGRAM ".new version";

/// What mktemp answered is a foreign word that becomes a path of scp.
bool is_upload_folder(std::string_view path) {
    constexpr std::string_view Start = "/tmp/porthole.";
    return path.starts_with(Start) && path.size() == Start.size() + 10 &&
           std::ranges::all_of(path.substr(Start.size()), [](unsigned char c) { return std::isalnum(c); });
}

}  // namespace

Task<std::string> LinuxHost::as_root(std::string what, std::vector<std::string> words, std::string input, Duration limit) {
    const std::string seconds = std::to_string(std::chrono::duration_cast<std::chrono::seconds>(limit).count());
    words.insert(words.begin(), {"timeout", "--kill-after=5", seconds});
    if (target_.user != "root") words.insert(words.begin(), {"sudo", "-n", "--"});
    CO_TRY(CommandOutput done, co_await transport_.run(target_, quote_for_shell(words), std::move(input), limit + KillMargin));
    if (done.exit_code == EndedByTimeout) co_return Error(Reason::Timeout, what + ": it did not end within " + seconds + " s");
    CO_TRY_VOID(check_output(done, what));
    co_return std::move(done.output);
}

Task<std::string> LinuxHost::script(std::string what, const char* text, std::vector<std::string> arguments, Duration limit,
                                    std::string input) {
    arguments.insert(arguments.begin(), {"sh", "-c", text, "porthole-provision"});
    return as_root(std::move(what), std::move(arguments), std::move(input), limit);
}

Task<> LinuxHost::quiet(std::string what, const char* text, std::vector<std::string> arguments, Duration limit, std::string input) {
    CO_TRY_VOID(co_await script(std::move(what), text, std::move(arguments), limit, std::move(input)));
    co_return {};
}

Task<> LinuxHost::upload(Payload payload) {
    CO_TRY(const CommandOutput made,
           co_await transport_.run(target_, quote_for_shell({"mktemp", "-d", "/tmp/porthole.XXXXXXXXXX"}), "", Short));
    CO_TRY_VOID(check_output(made, "making a directory for the program"));
    std::string folder = made.output.substr(0, made.output.find('\n'));
    if (!is_upload_folder(folder)) co_return Error(Reason::Io, "mktemp did not yield a directory for the program");
    auto done = co_await transport_.copy(target_, payload.file, folder + "/porthole");
    if (done) done = co_await quiet("the program does not run there", Unpack, {folder, payload.sha256}, Long);
    if (!done) (void)co_await transport_.run(target_, quote_for_shell({"rm", "-rf", folder}), "", Short);
    co_return done;
}

}  // namespace porthole::provision

#include "winhost/host/smb_shares.h"

#include <algorithm>

#include "base/strings.h"
#include "runtime/files/mounts.h"

namespace porthole::winhost {
namespace {

constexpr const char* Shares = "C:\\ProgramData\\Porthole Shares";
constexpr Duration LongestAnswer = std::chrono::seconds(10), LongestMount = std::chrono::minutes(1);
// Pods have no accounts of this machine: who may do what with the files is up to the server, as it is for a mapping of Windows.
constexpr const char* Options = "nosuid,nodev,seal,soft,uid=0,gid=0,file_mode=0777,dir_mode=0777,noperm";

bool has_line_break(const std::string& text) { return text.find_first_of(std::string("\n\r\0", 3)) != text.npos; }

/// "//server/share", as mount.cifs takes it.
std::string source_of(std::string remote) {
    std::ranges::replace(remote, '\\', '/');
    return remote;
}

}  // namespace

Result<std::string> place_of_share(const std::string& remote) {
    const std::vector<std::string> names = split_nonempty(remote, '\\');
    if (names.size() < 2) return Error(Reason::BadRequest, "invalid remote path of an SMB share: " + remote);
    std::string place = Shares;
    for (std::size_t i = 0; i < names.size(); ++i) {
        if (names[i] == "." || names[i] == ".." || names[i].contains('/'))
            return Error(Reason::BadRequest, "invalid remote path of an SMB share: " + remote);
        place += "\\" + (i < 2 ? to_lower(names[i]) : names[i]);
    }
    return place;
}

Result<std::string> SmbShares::folder_of(const std::string& remote) const {
    TRY(const std::string place, place_of_share(remote));
    return mounts_.folder_of(place);
}

/// A server that is away keeps whoever asks for its files waiting: a program can be given up.
Task<bool> SmbShares::answers(std::string path) {
    const auto ended = co_await services_.programs.run({.arguments = {"stat", "-f", "--", path}, .limit = LongestAnswer});
    if (is_cancelled(ended)) co_return ended.error();
    co_return ended && ended->exit_code == 0;
}

Task<> SmbShares::map(std::string remote, std::string user, std::string password) {
    const bool able =
        std::ranges::any_of(services_.programs_of_mount, [&](const std::string& program) { return services_.files.exists(program); });
    if (!able)
        co_return Error(Reason::MethodNotAllowed,
                        "SMB shares are not available on this host: the machine that emulates it has no mount.cifs (package cifs-utils)");
    if (has_line_break(user) || has_line_break(password))
        co_return Error(Reason::BadRequest, "the user name or the password of the SMB share has a line break");
    CO_TRY(const std::string folder, folder_of(remote));
    CO_TRY(const auto permit, co_await one_at_a_time_.acquire());
    CO_TRY(const std::size_t mounts, mounts_.count(folder));
    if (mounts > 0) {
        CO_TRY(const bool well, co_await answers(mounts_.path_of(folder)));
        if (well) co_return {};
        CO_TRY_VOID(co_await on_worker([&] { return mounts_.hide(folder); }));
    }
    const std::string credentials = services_.own_folder + "/credentials", target = services_.own_folder + "/mounted";
    CO_TRY_VOID(co_await on_worker([&] { return unmount_below(services_.own_folder); }));  // of a process that ended here
    CO_TRY_VOID(services_.files.create_directories(target, 0700));
    CO_TRY_VOID(services_.files.replace(credentials, "username=" + user + "\npassword=" + password + "\n", 0600));
    const auto mounted = co_await mount(remote, credentials, target);
    CO_TRY_VOID(services_.files.remove(credentials));
    CO_TRY_VOID(mounted);
    co_return co_await on_worker([&] {
        const auto shown = mounts_.show(target, folder);
        const auto unmounted = unmount_below(target);
        return unmounted ? shown : unmounted;
    });
}

Task<> SmbShares::mount(std::string remote, std::string credentials, std::string target) {
    const std::string options = "credentials=" + credentials + "," + Options;
    CO_TRY(const CommandOutput ended,
           co_await services_.programs.run(
               {.arguments = {"mount", "-t", "cifs", "-o", options, "--", source_of(remote), target}, .limit = LongestMount}));
    if (ended.exit_code == 0) co_return {};
    co_return Error(Reason::Io, "mounting " + remote + " failed: " + std::string(trim(ended.output + ended.errors)));
}

Task<> SmbShares::unmap(std::string remote) {
    CO_TRY(const std::string folder, folder_of(remote));
    CO_TRY(const auto permit, co_await one_at_a_time_.acquire());
    co_return co_await on_worker([&] { return mounts_.hide(folder); });
}

}  // namespace porthole::winhost

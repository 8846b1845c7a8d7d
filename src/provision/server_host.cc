#include "provision/server_host.h"

#include <charconv>

#include "base/strings.h"
#include "net/tls/x509.h"
#include "provision/remote_script.h"

namespace porthole::provision {
namespace {

// As in linux_machine.cc: constants, of which $1 and so on vary, run by root's sh.
#define FILES PORTHOLE_SERVER_FILES
#define DATA PORTHOLE_SERVER_DATA
#define UNIT "porthole-server.service"
#define HELD "/run/porthole-provision"

constexpr const char* AskServer =
    "export LC_ALL=C\n"
    "echo system=$(uname -s); echo architecture=$(uname -m)\n"
    "if [ -d /run/systemd/system ]; then echo services=systemd; fi\n"
    "if [ -e /var/lib/porthole-agent ]; then echo node=yes; fi\n"
    "if [ -e " DATA "/pki ] || systemctl is-active --quiet " UNIT
    "; then echo data=yes; fi\n"
    "for directory in " FILES " " FILES
    ".previous; do if [ -e $directory/cluster ]; then printf 'cluster=%s\n' \"$(head -c 100 $directory/cluster)\"; printf 'networks=%s\n' "
    "\"$(head -c 500 $directory/networks)\"; fi; done\n"
    "if [ -e " FILES ".previous ] || [ -e " PORTHOLE_PROGRAM
    ".previous ]; then echo previous=yes; fi\n"
    "if [ -e " PORTHOLE_PROGRAM " ]; then echo program=$(sha256sum <" PORTHOLE_PROGRAM
    " | cut -c1-64); fi\n"
    "if cd " FILES
    " 2>/dev/null; then echo files=$(for file in *; do echo \"$file $(sha256sum <\"$file\" | cut -c1-64)\"; done | sha256sum | cut "
    "-c1-64); fi\n"
    "if systemctl is-active --quiet " UNIT
    "; then echo server=active; fi\n"
    "exit 0";

/// $1: the holder. flock(1) keeps two runs from both finding it free.
constexpr const char* Hold = "exec 9>" HELD
                             ".lock && flock 9 || exit 1\n"
                             "if [ -s " HELD " ] && [ \"$(cat " HELD ")\" != \"$1\" ] && [ $(($(date +%s) - $(stat -c %Y " HELD
                             "))) -lt 60 ]; then echo \"held=$(head -c 300 " HELD
                             ")\"; exit 0; fi\n"
                             "printf %s \"$1\" >" HELD;

constexpr const char* Release = "exec 9>" HELD
                                ".lock && flock 9 || exit 1\n"
                                "if [ \"$(cat " HELD " 2>/dev/null)\" = \"$1\" ]; then rm -f " HELD "; fi";

/// Also deletes the program of an upload that was never placed, which may be of another version, or cut off.
constexpr const char* MakeFolder = "set -e\nrm -rf " FILES ".new " PORTHOLE_PROGRAM ".new\nmkdir -m 0700 " FILES ".new";

/// $1: the file's name. Its text comes by standard input, because it may be a secret.
constexpr const char* WriteFile = "set -e\numask 077\ncat >" FILES ".new/\"$1\"\nsync " FILES ".new/\"$1\"";

#define USE_UNIT                                                   \
    "install -m 0644 " FILES "/" UNIT " /etc/systemd/system/" UNIT \
    "\n"                                                           \
    "systemctl daemon-reload\n"

/// $1: "keep", or "". As in linux_machine.cc, what was there gets its second name at once and whole.
constexpr const char* PlaceServer =
    "set -e\n"
    "if [ \"$1\" = keep ]; then rm -rf " FILES ".previous " PORTHOLE_PROGRAM ".previous; ln " PORTHOLE_PROGRAM " " PORTHOLE_PROGRAM
    ".previous; mv " FILES " " FILES
    ".previous; fi\n"
    "if [ -e " PORTHOLE_PROGRAM ".new ]; then mv -f " PORTHOLE_PROGRAM ".new " PORTHOLE_PROGRAM
    "; fi\n"
    "rm -rf " FILES "\nmv " FILES ".new " FILES;

/// The unit is not placed earlier: the next run starts what was placed by one that was cut off.
constexpr const char* StartServer =
    "set -e\n" USE_UNIT "systemctl enable --quiet " UNIT "\nsystemctl reset-failed " UNIT " || true\nsystemctl start " UNIT;

constexpr const char* StopServer = "if [ -e /etc/systemd/system/" UNIT " ]; then systemctl stop " UNIT "; fi";

/// mv(1) refuses two names of one file: the program where only the other files were to be replaced.
constexpr const char* RollBackServer =
    "set -e\n"
    "if [ " PORTHOLE_PROGRAM ".previous -ef " PORTHOLE_PROGRAM " ]; then rm " PORTHOLE_PROGRAM
    ".previous\n"
    "elif [ -e " PORTHOLE_PROGRAM ".previous ]; then mv -f " PORTHOLE_PROGRAM ".previous " PORTHOLE_PROGRAM
    "; fi\n"
    "if [ -e " FILES ".previous ]; then rm -rf " FILES "; mv " FILES ".previous " FILES "; fi\n" USE_UNIT "systemctl reset-failed " UNIT
    " || true\nsystemctl restart " UNIT;

/// Of `etcd: {}`, if it is there.
#define REMOVE_ETCD                                                                                     \
    "if [ -e /etc/systemd/system/" PORTHOLE_ETCD_UNIT " ]; then systemctl stop " PORTHOLE_ETCD_UNIT     \
    "; systemctl disable --quiet " PORTHOLE_ETCD_UNIT "; rm -f /etc/systemd/system/" PORTHOLE_ETCD_UNIT \
    "; systemctl daemon-reload; fi\n"                                                                   \
    "rm -rf " PORTHOLE_ETCD_FILES                                                                       \
    "\n"                                                                                                \
    "if getent passwd " PORTHOLE_ETCD_USER " >/dev/null; then PATH=$PATH:/usr/sbin:/sbin userdel " PORTHOLE_ETCD_USER "; fi\n"

constexpr const char* RemoveServer =
    "set -e\n"
    "if [ -e /etc/systemd/system/" UNIT " ]; then systemctl stop " UNIT "; systemctl disable --quiet " UNIT
    "; rm -f /etc/systemd/system/" UNIT "; systemctl daemon-reload; fi\n" REMOVE_ETCD "rm -rf " DATA " " FILES " " FILES ".new " FILES
    ".previous " HELD " " HELD
    ".lock\n"
    "rm -f " PORTHOLE_PROGRAM " " PORTHOLE_PROGRAM ".previous " PORTHOLE_PROGRAM ".new";

/// Not --unit: its last line would be systemd's own, such as that the unit is started again.
constexpr const char* AskEnds = "echo count=$(systemctl show -p NRestarts --value " UNIT
                                ")\n"
                                "printf 'said=%s\\n' \"$(journalctl _SYSTEMD_UNIT=" UNIT
                                " --lines 1 --output cat --no-pager 2>/dev/null | head -c 900 | tr '\\n' ' ')\"\n"
                                "exit 0";

Result<void> check_can_serve(const std::map<std::string, std::string>& answers) {
    const auto is = [&](const char* key, const char* value) { return answers.contains(key) && answers.at(key) == value; };
    if (!is("system", "Linux")) return Error(Reason::BadRequest, "the machine does not run Linux, which the control plane needs");
    if (!is("architecture", "x86_64")) return Error(Reason::BadRequest, "the machine's processor is not x86_64, which this program is for");
    if (!is("services", "systemd")) return Error(Reason::BadRequest, "the machine has no systemd, which runs the server");
    if (is("node", "yes"))
        return Error(Reason::Conflict,
                     "the machine is a node, and a node cannot run the control plane as well: run `porthole reset` there first");
    if (is("data", "yes") && !answers.contains("cluster"))
        return Error(Reason::Conflict, "the machine has a control plane that `provision` did not set up, in " DATA
                                       ": end it and move that directory away, "
                                       "or choose another machine");
    return {};
}

}  // namespace

std::string digest_of(const ServerFiles& files) {
    std::string text;
    for (const auto& [name, content] : files) text += name + " " + net::to_hex(net::sha256(content)) + "\n";
    return net::to_hex(net::sha256(text));
}

Task<ServerFacts> ServerHost::ask() {
    auto output = co_await host_.script("asking the machine", AskServer, {}, LinuxHost::Short);
    // What cmd.exe and PowerShell say to a command of sh.
    if (!output && output.error().reason == Reason::Io &&
        (output.error().message.contains("is not recognized") || output.error().message.contains("Unexpected token")))
        co_return Error(Reason::BadRequest,
                        "the machine seems to run Windows, and the control plane needs Linux: " + output.error().message);
    CO_TRY(const std::string text, std::move(output));
    const auto answers = parse_answers(text);
    const auto answer = [&](const char* key) { return answers.contains(key) ? answers.at(key) : std::string(); };
    CO_TRY_VOID(check_can_serve(answers));
    co_return ServerFacts{.cluster = answer("cluster"),
                          .networks = answer("networks"),
                          .program_sha256 = answer("program"),
                          .files_sha256 = answer("files"),
                          .is_running = answer("server") == "active",
                          .has_previous = answer("previous") == "yes"};
}

Task<> ServerHost::hold(std::string holder) {
    CO_TRY(const std::string text, co_await host_.script("reserving the machine", Hold, {std::move(holder)}, LinuxHost::Short));
    const auto answers = parse_answers(text);
    if (const auto held = answers.find("held"); held != answers.end()) co_return Error(Reason::AlreadyExists, held->second);
    co_return {};
}

Task<> ServerHost::release(std::string holder) {
    return host_.quiet("releasing the machine", Release, {std::move(holder)}, LinuxHost::Short);
}

Task<> ServerHost::upload(Payload program, ServerFiles files) {
    CO_TRY_VOID(co_await upload_files(std::move(files)));
    co_return co_await host_.upload(std::move(program));
}

Task<> ServerHost::upload_files(ServerFiles files) {
    CO_TRY_VOID(co_await host_.quiet("making a directory for the server's files", MakeFolder, {}, LinuxHost::Short));
    for (const auto& [name, text] : files)
        CO_TRY_VOID(co_await host_.quiet("writing the server's file " + name, WriteFile, {name}, LinuxHost::Short, text));
    co_return {};
}

Task<> ServerHost::place(bool keep) {
    return host_.quiet("putting the server into its place", PlaceServer, {keep ? "keep" : ""}, LinuxHost::Short);
}
Task<> ServerHost::start() { return host_.quiet("starting porthole-server", StartServer, {}, LinuxHost::Long); }
Task<> ServerHost::stop() { return host_.quiet("stopping porthole-server", StopServer, {}, LinuxHost::Long); }
Task<> ServerHost::roll_back() { return host_.quiet("putting the old server back", RollBackServer, {}, LinuxHost::Long); }
Task<> ServerHost::forget_previous() {
    return host_.quiet("deleting the old server", "rm -rf " FILES ".previous " PORTHOLE_PROGRAM ".previous", {}, LinuxHost::Short);
}
Task<> ServerHost::remove() { return host_.quiet("removing the server", RemoveServer, {}, LinuxHost::Long); }

Task<AdminCredentials> ServerHost::credentials() {
    CO_TRY(const std::string text, co_await host_.as_root("the administrator's kubeconfig",
                                                          {PORTHOLE_PROGRAM, "kubeconfig", "--data", DATA}, "", LinuxHost::Short));
    auto found = parse_credentials(text);
    if (!found) co_return Error(Reason::Io, "the administrator's kubeconfig of the machine: " + found.error().message);
    co_return found;
}

Task<ServerHost::Ends> ServerHost::ends() {
    CO_TRY(const std::string text, co_await host_.script("asking about porthole-server", AskEnds, {}, LinuxHost::Short));
    const auto answers = parse_answers(text);
    Ends ends;
    if (const auto count = answers.find("count"); count != answers.end())
        (void)std::from_chars(count->second.data(), count->second.data() + count->second.size(), ends.count);
    if (const auto said = answers.find("said"); said != answers.end()) ends.last_words = said->second;
    co_return ends;
}

}  // namespace porthole::provision

#include "winhost/host/iscsi_initiator.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstring>

#include "base/strings.h"
#include "winhost/bundle/held_tree.h"

namespace porthole::winhost {
namespace {

using open_iscsi::ListedTarget;
using open_iscsi::LogicalUnit;
using open_iscsi::Session;
using Values = open_iscsi::IscsiRecords::Values;

constexpr Duration LongestRun = std::chrono::minutes(1);
constexpr std::size_t LongestHost = 48;  // open-iscsi allows 64 letters in the name of an interface
constexpr std::size_t LongestId = 128, LongestMessage = 1024;
constexpr const char* NoIscsi = "iSCSI targets are not available on this host: ";

Error not_available(const std::string& why) { return Error(Reason::MethodNotAllowed, NoIscsi + why + " (package open-iscsi)"); }
Error failed(const std::string& message) { return Error(Reason::Io, std::string(trim(message)).substr(0, LongestMessage)); }

std::string portal_of(const ListedTarget& target) {
    const std::string address = target.address.contains(':') ? "[" + target.address + "]" : target.address;
    return address + ":" + std::to_string(target.port);
}

/// What a target says of its unit, as drivers may see it.
std::string printable(std::string_view text) {
    std::string result;
    for (const char c : text.substr(0, LongestId))
        if (c > ' ' && c < '\x7f') result += c;
    return result;
}

std::uint64_t number_of(const std::string& text) {
    std::uint64_t number = 0;
    std::from_chars(text.data(), text.data() + text.size(), number);
    return number;
}

}  // namespace

Result<std::shared_ptr<const void>> hold_block_device(const std::string& path, const std::string& number) {
    auto device = std::make_shared<FileHandle>(::open(path.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
    struct stat status;
    if (!device->is_open() || ::fstat(device->get(), &status) != 0)
        return Error(Reason::Io, "opening " + path + ": " + std::strerror(errno));
    const std::string found = std::to_string(major(status.st_rdev)) + ":" + std::to_string(minor(status.st_rdev));
    if (!S_ISBLK(status.st_mode) || found != number) return Error(Reason::Conflict, path + " is not the block device " + number);
    return device;
}

IscsiInitiator::IscsiInitiator(Services services)
    : services_(std::move(services)),
      interface_("porthole-" + services_.host.substr(services_.host.size() - std::min(services_.host.size(), LongestHost))),
      initiator_name_("iqn.1991-05.com.microsoft:" + to_lower(services_.name)),
      records_(services_.files, services_.machine) {}

std::string IscsiInitiator::program() const {
    for (const char* path : {"/sbin/iscsiadm", "/usr/sbin/iscsiadm"})
        if (services_.files.exists(services_.machine + path)) return services_.machine + path;
    return "";
}

Result<void> IscsiInitiator::check() const {
    return program().empty() ? not_available("the machine that emulates it has no iscsiadm") : Result<void>();
}

std::vector<Session> IscsiInitiator::sessions() { return open_iscsi::sessions_of(interface_, services_.files, services_.machine + "/sys"); }

Task<CommandOutput> IscsiInitiator::admin(Words where, Words what, std::vector<int> also) {
    using namespace open_iscsi;
    CO_TRY_VOID(check());
    constexpr int Unable[] = {NoTransport, NoAnswerOfDaemon, NoDaemon};
    also.insert(also.end(), std::begin(Unable), std::end(Unable));
    AdminOptions options{.program = program(), .network_namespace = services_.network_namespace, .limit = LongestRun};
    auto ended = co_await run_iscsiadm(std::move(where), std::move(what), std::move(also), services_.programs, std::move(options));
    if (!ended && ended.error().reason == Reason::Io) co_return failed(ended.error().message);
    if (ended && std::ranges::find(Unable, ended->exit_code) != std::end(Unable))
        co_return not_available("iscsid or the kernel of the machine that emulates it does not answer: " +
                                failed(ended->output + ended->errors).message);
    co_return ended;
}

/// Before the first session: iscsiadm changes no interface whose transport the kernel does not have.
Task<> IscsiInitiator::ensure_interface() {
    if (has_interface_) co_return {};
    const Words interface = {"-m", "iface", "-I", interface_};
    CO_TRY_VOID(co_await admin(interface, {"-o", "new"}, {open_iscsi::AlreadyThere}));
    const auto named = co_await admin(interface, {"-o", "update", "-n", "iface.initiatorname", "-v", initiator_name_});
    if (!named && named.error().reason == Reason::Io)
        co_return not_available("the machine that emulates it cannot use iSCSI: " + named.error().message);
    CO_TRY_VOID(named);
    has_interface_ = true;
    co_return {};
}

/// A portal that a driver has named could guess the machine's password from what it is sent.
Task<std::vector<ListedTarget>> IscsiInitiator::discover(std::string portal) {
    CO_TRY_VOID(check());
    const std::string settings = services_.files.read(services_.machine + "/etc/iscsi/iscsid.conf").value_or("");
    for (const std::string_view line : split_views(settings, '\n'))
        if (trim(line).starts_with("discovery.sendtargets.auth.password"))
            co_return Error(
                Reason::Conflict,
                "iscsid.conf of the machine that emulates this host has a CHAP password for discovery, which no portal of a driver "
                "shall see: remove it there");
    CO_TRY_VOID(co_await ensure_interface());
    CO_TRY(const CommandOutput found, co_await admin({"-m", "discovery", "-t", "sendtargets", "-p", std::move(portal), "-I", interface_},
                                                     {"-o", "nonpersistent"}, {open_iscsi::NothingFound}));
    co_return open_iscsi::parse_target_list(found.exit_code == 0 ? found.output : "");
}

Task<> IscsiInitiator::log_in(ListedTarget target, Values authentication) {
    const std::string portal = portal_of(target);
    const Words node = node_words(target.name, portal + "," + std::to_string(target.group));
    CO_TRY_VOID(co_await ensure_interface());
    CO_TRY_VOID(co_await admin(node, {"-o", "delete"}, {open_iscsi::NothingFound}));  // of a process that ended here
    CO_TRY_VOID(co_await admin(node, {"-o", "new"}));
    // In place of what the machine's iscsid.conf says, also of its own names and passwords. A login without an answer ends before
    // LongestRun.
    Values values = {{"node.startup", "manual"},
                     {"node.conn[0].startup", "manual"},
                     {"node.conn[0].timeo.login_timeout", "15"},
                     {"node.session.initial_login_retry_max", "2"},
                     {"node.session.auth.authmethod", authentication.empty() ? "None" : "CHAP"}};
    for (const char* key : {"username", "password", "username_in", "password_in"}) values[std::string("node.session.auth.") + key] = "";
    for (auto& [key, value] : authentication) values[key] = std::move(value);
    Result<void> done = records_.set_node(portal, target.name, interface_, values);
    if (done)
        if (const auto in = co_await admin(node, {"--login"}); !in) done = in.error();
    if (!done && !is_cancelled(done))
        CO_TRY_VOID(co_await admin(node, {"-o", "delete"}, {open_iscsi::NothingFound, open_iscsi::AlreadyThere}));
    co_return done;
}

Task<> IscsiInitiator::remove_records(std::string target) {
    for (const auto& node : records_.nodes_of(interface_)) {
        if (!target.empty() && node.target != target) continue;
        CO_TRY_VOID(co_await admin(node_words(node.target, node.portal), {"-o", "delete"}, {open_iscsi::NothingFound}));
    }
    co_return {};
}

Task<> IscsiInitiator::log_out(Session session) {
    CO_TRY_VOID(co_await admin({"-m", "session", "-r", std::to_string(session.id)}, {"--logout"}, {open_iscsi::NothingFound}));
    co_return co_await remove_records(session.target);
}

Task<> IscsiInitiator::end() {
    Result<void> first;
    for (const Session& session : sessions())
        if (auto out = co_await log_out(session); !out && first) first = std::move(out);
    CO_TRY_VOID(first);
    CO_TRY_VOID(co_await remove_records(""));
    if (!records_.has_interface(interface_)) co_return {};
    CO_TRY_VOID(co_await admin({"-m", "iface", "-I", interface_}, {"-o", "delete"}, {open_iscsi::NothingFound}));
    has_interface_ = false;
    co_return {};
}

std::string IscsiInitiator::disk_name(const Session& session, const LogicalUnit& unit) {
    return session.target + "," + std::to_string(unit.number);
}

std::string IscsiInitiator::attribute(const LogicalUnit& unit, const std::string& name) {
    return std::string(trim(services_.files.read(unit.folder + "/" + name).value_or("")));
}

/// Why the unit cannot be used; "" if it can.
std::string IscsiInitiator::problem_of(const Session& session, const LogicalUnit& unit) {
    if (!session.is_logged_in()) return "its iSCSI session is interrupted (" + printable(session.state) + ")";
    if (attribute(unit, "queue/logical_block_size") != "512") return "its sectors do not have 512 bytes";
    const auto names_in = [&](const std::string& folder) { return services_.files.list(folder).value_or(Words()); };
    Words parts = {unit.folder};
    for (const std::string& name : names_in(unit.folder))
        if (name.starts_with(unit.device)) parts.push_back(unit.folder + "/" + name);
    for (const std::string& part : parts)
        if (const Words holders = names_in(part + "/holders"); !holders.empty())
            return "the machine that emulates this host uses it for " + holders.front();
    return "";
}

/// What is known of a unit whose device was opened is of that device if it is still there afterwards.
std::optional<AttachedDisk> IscsiInitiator::look_at(const Session& session, const LogicalUnit& unit) {
    AttachedDisk disk{.name = disk_name(session, unit),
                      .image = services_.machine + "/dev/" + unit.device,
                      .bytes = number_of(attribute(unit, "size")) * 512,
                      .problem = problem_of(session, unit)};
    if (disk.bytes < SmallestDisk) return std::nullopt;
    if (disk.problem.empty()) {
        auto held = services_.hold(disk.image, attribute(unit, "dev"));
        if (!services_.files.exists(unit.folder)) return std::nullopt;
        if (held) {
            disk.held = *std::move(held);
        } else {
            disk.problem = held.error().message;
        }
    }
    // The page has a head of four bytes.
    const std::string page = services_.files.read(unit.folder + "/device/vpd_pg80").value_or("");
    disk.serial_number = printable(page.size() > 4 ? std::string_view(page).substr(4) : "");
    disk.unique_id = printable(attribute(unit, "device/wwid"));
    disk.location = "Integrated : Adapter 1 : Port 0 : Target " + std::to_string(session.id) + " : LUN " + std::to_string(unit.number);
    return disk;
}

std::vector<AttachedDisk> IscsiInitiator::list() {
    std::vector<AttachedDisk> disks;
    for (const Session& session : sessions())
        for (const LogicalUnit& unit : session.units)
            if (auto disk = disks.size() < MostDisks ? look_at(session, unit) : std::nullopt) disks.push_back(*std::move(disk));
    return disks;
}

/// A target that does not answer does not keep the others from being scanned.
Task<> IscsiInitiator::rescan() {
    Result<void> first;
    for (const Session& session : sessions()) {
        if (!session.is_logged_in()) continue;
        const auto done = co_await admin({"-m", "session", "-r", std::to_string(session.id)}, {"--rescan"}, {open_iscsi::NothingFound});
        if (!done && first) first = done.error();
    }
    co_return first;
}

}  // namespace porthole::winhost

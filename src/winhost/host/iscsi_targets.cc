#include "winhost/host/iscsi_targets.h"

#include <algorithm>

#include "base/strings.h"
#include "winhost/host/iscsi_portal.h"

namespace porthole::winhost {
namespace {

using namespace std::chrono_literals;
using csi_proxy::DiskNumber;
using open_iscsi::ListedTarget;
using open_iscsi::Session;
using Values = open_iscsi::IscsiRecords::Values;

constexpr int Looks = 10;

/// A record of open-iscsi has one line for each.
bool is_line(const std::string& text) {
    return std::ranges::all_of(text, [](char c) { return c >= ' ' && c <= '~'; });
}

Result<void> check_secret(const std::string& secret) {
    if (secret.size() < IscsiTargets::ShortestSecret || secret.size() > IscsiTargets::LongestSecret || !is_line(secret) ||
        trim(secret) != secret)
        return Error(Reason::BadRequest, "a CHAP secret has 12 to 16 characters of ASCII, with no blank at either end");
    return {};
}

Result<void> check_name(const std::string& target) {
    if (!open_iscsi::is_plain_target_name(target))
        return Error(Reason::BadRequest, "on this host, the name of an iSCSI target has letters of ASCII, digits, '-', '.' and ':' only");
    return {};
}

/// As discovery lists it at the portal.
bool is_at(const ListedTarget& target, const csi_proxy::Iscsi::Portal& portal) {
    return plain_address(target.address) == portal.address && target.port == portal.port;
}

}  // namespace

std::vector<std::string> IscsiTargets::known_portals() { return split_nonempty(services_.files.read(record()).value_or(""), '\n'); }

Result<void> IscsiTargets::remember(const std::vector<std::string>& portals) {
    TRY_VOID(services_.files.create_directories(services_.folder, 0700));
    return services_.files.replace(record(), join(portals, "\n"), 0600);
}

Result<std::string> IscsiTargets::known(const Portal& portal) {
    TRY_VOID(services_.initiator.check());
    TRY(std::string text, portal_text(portal));
    const auto portals = known_portals();
    if (std::ranges::find(portals, text) == portals.end()) return Error(Reason::NotFound, "this host has no iSCSI portal " + text);
    return text;
}

Task<> IscsiTargets::add_portal(Portal portal) {
    CO_TRY_VOID(services_.initiator.check());
    CO_TRY(const std::string text, portal_text(portal));
    CO_TRY(const auto permit, co_await turns_.take());
    CO_TRY_VOID(co_await services_.initiator.discover(text));  // whether it answers
    auto portals = known_portals();
    if (std::ranges::find(portals, text) != portals.end()) co_return {};
    if (portals.size() >= MostPortals) co_return Error(Reason::Conflict, "this host has too many iSCSI portals: remove one");
    portals.push_back(text);
    co_return remember(portals);
}

/// Sessions stay.
Task<> IscsiTargets::remove_portal(Portal portal) {
    CO_TRY(const auto permit, co_await turns_.take());
    CO_TRY(const std::string text, known(portal));
    auto portals = known_portals();
    std::erase(portals, text);
    co_return remember(portals);
}

Task<std::vector<csi_proxy::Iscsi::Portal>> IscsiTargets::portals() {
    CO_TRY_VOID(services_.initiator.check());
    std::vector<Portal> portals;
    for (const std::string& text : known_portals()) portals.push_back(parse_portal(text));
    co_return portals;
}

Task<std::vector<std::string>> IscsiTargets::discover(Portal portal) {
    CO_TRY(const auto permit, co_await turns_.take());
    CO_TRY(const std::string text, known(portal));
    CO_TRY(const auto found, co_await services_.initiator.discover(text));
    std::vector<std::string> names;
    for (const ListedTarget& target : found)
        if (std::ranges::find(names, target.name) == names.end()) names.push_back(target.name);
    co_return names;
}

/// Windows asks a target for the secret only, open-iscsi also for the name that goes with it: that of the target.
Result<Values> IscsiTargets::authentication(const std::string& target, Login login) const {
    Values values;
    if (login.chap == Chap::None) return values;
    if (login.user.empty()) login.user = services_.initiator.initiator_name();
    if (login.user.size() > LongestUser || !is_line(login.user) || trim(login.user) != login.user)
        return Error(Reason::BadRequest, "a CHAP user name has at most 223 characters of ASCII, with no blank at either end");
    TRY_VOID(check_secret(login.secret));
    values = {{"node.session.auth.username", login.user}, {"node.session.auth.password", login.secret}};
    if (login.chap == Chap::OneWay) return values;
    if (mutual_secret_.empty()) return Error(Reason::Conflict, "this host has no mutual CHAP secret: set one first");
    values["node.session.auth.username_in"] = target;
    values["node.session.auth.password_in"] = mutual_secret_;
    return values;
}

std::optional<Session> IscsiTargets::find_session(const std::string& target) {
    for (Session& session : services_.initiator.sessions())
        if (session.target == target) return std::move(session);
    return std::nullopt;
}

Result<std::optional<Session>> IscsiTargets::find_session(const Portal& portal, const std::string& target) {
    TRY(const std::string text, known(portal));
    TRY_VOID(check_name(target));
    auto session = find_session(target);
    const Portal place = parse_portal(text);
    if (session && plain_address(session->address) == place.address && session->port == std::to_string(place.port)) return session;
    return std::optional<Session>();
}

Task<> IscsiTargets::connect(Portal portal, std::string target, Login login) {
    if (login.multipath) co_return Error(Reason::MethodNotAllowed, "this host has no multipath for iSCSI targets");
    CO_TRY_VOID(check_name(target));
    CO_TRY(const auto permit, co_await turns_.take());
    CO_TRY(const std::string text, known(portal));
    CO_TRY(Values values, authentication(target, std::move(login)));
    if (find_session(target)) co_return Error(Reason::AlreadyExists, "The target has already been logged in via an iSCSI session.");
    if (services_.initiator.sessions().size() >= MostTargets)
        co_return Error(Reason::Conflict, "this host is connected to too many iSCSI targets: disconnect one");
    CO_TRY(const auto offered, co_await services_.initiator.discover(text));
    const auto found = std::ranges::find_if(
        offered, [&, place = parse_portal(text)](const ListedTarget& one) { return one.name == target && is_at(one, place); });
    if (found == offered.end()) co_return Error(Reason::NotFound, "the portal " + text + " does not offer the target " + target);
    CO_TRY_VOID(co_await services_.initiator.log_in(*found, std::move(values)));
    co_return co_await wait_for_disk(std::move(target));
}

/// The kernel makes devices after the login.
Task<> IscsiTargets::wait_for_disk(std::string target) {
    for (int look = 0; look < Looks; ++look) {
        const auto session = find_session(target);
        if (session && !session->units.empty()) break;
        CO_TRY_VOID(co_await services_.loop.sleep(1s));
    }
    co_return {};
}

Task<> IscsiTargets::disconnect(Portal portal, std::string target) {
    CO_TRY(const auto permit, co_await turns_.take());
    CO_TRY(const auto session, find_session(portal, target));
    if (!session) co_return {};
    std::vector<std::string> disks;
    for (const auto& unit : session->units) disks.push_back(IscsiInitiator::disk_name(*session, unit));
    CO_TRY(const auto unused, co_await services_.volumes.hold_unused(std::move(disks)));
    co_return co_await services_.initiator.log_out(*session);
}

Task<std::vector<DiskNumber>> IscsiTargets::disks_of(Portal portal, std::string target) {
    CO_TRY(const auto session, find_session(portal, target));
    std::vector<DiskNumber> numbers;
    if (!session) co_return numbers;
    CO_TRY(const auto attached, co_await services_.volumes.attached());
    for (const AttachedDisk& disk : attached)
        if (disk.name.starts_with(target + ",")) numbers.push_back(disk.number);
    co_return numbers;
}

Task<> IscsiTargets::set_mutual_secret(std::string secret) {
    CO_TRY_VOID(services_.initiator.check());
    CO_TRY_VOID(check_secret(secret));
    mutual_secret_ = std::move(secret);
    co_return {};
}

}  // namespace porthole::winhost

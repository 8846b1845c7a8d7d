#include "kubelet/volumes/block_devices/iscsi.h"

#include <algorithm>
#include <span>

#include "base/strings.h"
#include "kubelet/volumes/block_devices/file_systems.h"
#include "kubelet/volumes/block_devices/scsi_devices.h"
#include "open_iscsi/iscsi_admin.h"
#include "open_iscsi/iscsi_records.h"

namespace porthole::kubelet {
namespace {

using open_iscsi::AlreadyThere;
using open_iscsi::NothingFound;
using Words = std::vector<std::string>;
using Values = open_iscsi::IscsiRecords::Values;

constexpr const char* DiscoveryKeys[] = {"discovery.sendtargets.auth.username", "discovery.sendtargets.auth.password",
                                         "discovery.sendtargets.auth.username_in", "discovery.sendtargets.auth.password_in"};
constexpr const char* SessionKeys[] = {"node.session.auth.username", "node.session.auth.password", "node.session.auth.username_in",
                                       "node.session.auth.password_in"};

Values only(std::span<const char* const> keys, const Values& secrets) {
    Values found;
    for (const char* key : keys)
        if (const auto secret = secrets.find(key); secret != secrets.end()) found.insert(*secret);
    return found;
}

class Iscsi final : public DeviceKind {
public:
    Iscsi(EventLoop& loop, FileSystem& files, ProcessRunner& programs) : loop_(loop), files_(files), programs_(programs), records_(files) {}
    const char* name() const override { return "iscsi"; }

    /// The names become parts of paths.
    Result<void> check(DeviceDetails details) override {
        for (const char* part : {"portals", "iqn", "lun", "interface"})
            if (details[part].contains('/') || details[part].empty())
                return Error(Reason::BadRequest, std::string("\"") + details[part] + "\" is not valid as " + part + " of an iSCSI volume");
        return {};
    }

    std::vector<std::string> find(DeviceDetails details) override { return find_devices(links_of(details), files_); }
    std::string session_of(DeviceDetails details) override { return details["iqn"]; }

    /// One portal that answers is enough.
    Task<std::string> attach(DeviceDetails details, std::map<std::string, std::string> secrets) override {
        Result<void> last;
        bool is_logged_in = false;
        if (const std::string there = find_device(links_of(details), files_); !there.empty()) co_return there;
        if (!details["initiator"].empty()) CO_TRY_VOID(co_await make_interface(details));
        for (const std::string& portal : portals_of(details)) {
            auto result = co_await log_in(portal, details, secrets);
            if (is_cancelled(result)) co_return result.error();
            is_logged_in |= result.has_value();
            if (!result) last = std::move(result);
        }
        if (!is_logged_in)
            co_return Error(last.error().reason, "failed to get any path for iscsi disk, last err seen:\n" + last.error().message);
        co_return co_await wait_for_device(links_of(details), "iscsi disk", loop_, files_);
    }

    Task<> detach(DeviceDetails details, std::vector<DeviceDetails> others) override {
        CO_TRY_VOID(co_await remove_devices(links_of(details), files_, programs_));
        const bool shares_session = std::ranges::any_of(
            others, [&](DeviceDetails& other) { return other["iqn"] == details["iqn"] && interface_of(other) == interface_of(details); });
        if (shares_session) co_return {};
        const auto left = co_await log_out(std::move(details));
        if (is_not_found(left)) co_return {};  // no iscsiadm
        co_return left;
    }

private:
    Task<> log_out(DeviceDetails details) {
        for (const std::string& portal : portals_of(details)) {
            const Words node = node_words(portal, details);
            CO_TRY_VOID(co_await admin(node, {"--logout"}, {NothingFound}));
            CO_TRY_VOID(co_await admin(node, {"-o", "delete"}, {NothingFound}));
        }
        if (!details["initiator"].empty())
            CO_TRY_VOID(co_await admin({"-m", "iface", "-I", interface_of(details)}, {"-o", "delete"}, {NothingFound}));
        co_return {};
    }

    static Words portals_of(DeviceDetails& details) { return split_nonempty(details["portals"], ','); }

    /// An initiator of one's own needs an interface of one's own.
    static std::string interface_of(DeviceDetails& details) {
        return details["initiator"].empty() ? details["interface"] : details["interface"] + "-" + details["iqn"] + "-" + details["lun"];
    }

    /// udev names an address of IPv6 without the brackets that a portal needs.
    static Words links_of(DeviceDetails& details) {
        Words links;
        for (std::string portal : portals_of(details)) {
            std::erase_if(portal, [](char c) { return c == '[' || c == ']'; });
            links.push_back("/dev/disk/by-path/ip-" + portal + "-iscsi-" + details["iqn"] + "-lun-" + details["lun"]);
        }
        return links;
    }

    static Words node_words(const std::string& portal, DeviceDetails& details) {
        return {"-m", "node", "-p", portal, "-T", details["iqn"], "-I", interface_of(details)};
    }

    Task<> admin(Words where, Words what, std::vector<int> also = {}) {
        CO_TRY_VOID(co_await open_iscsi::run_iscsiadm(std::move(where), std::move(what), std::move(also), programs_));
        co_return {};
    }

    Task<> set(Words where, std::string key, std::string value) {
        co_return co_await admin(std::move(where), {"-o", "update", "-n", std::move(key), "-v", std::move(value)});
    }

    Task<> make_interface(DeviceDetails details) {
        const Words interface = {"-m", "iface", "-I", interface_of(details)};
        CO_TRY_VOID(co_await admin(interface, {"-o", "new"}, {AlreadyThere}));
        co_return co_await set(interface, "iface.initiatorname", details["initiator"]);
    }

    Task<> log_in(std::string portal, DeviceDetails details, std::map<std::string, std::string> secrets) {
        const Words discovery = {"-m", "discoverydb", "-t", "sendtargets", "-p", portal, "-I", interface_of(details)};
        const Words node = node_words(portal, details);
        CO_TRY_VOID(co_await admin(discovery, {"-o", "new"}));
        if (details["chap_discovery"] == "true") {
            CO_TRY_VOID(co_await set(discovery, "discovery.sendtargets.auth.authmethod", "CHAP"));
            CO_TRY_VOID(records_.set_discovery(portal, only(DiscoveryKeys, secrets)));
        }
        CO_TRY_VOID(co_await admin(discovery, {"--discover"}));
        if (details["chap_session"] == "true") {
            CO_TRY_VOID(co_await set(node, "node.session.auth.authmethod", "CHAP"));
            CO_TRY_VOID(records_.set_node(portal, details["iqn"], interface_of(details), only(SessionKeys, secrets)));
        }
        CO_TRY_VOID(co_await admin(node, {"--login"}, {AlreadyThere}));
        // Who logs in after a restart of the node is the kubelet.
        CO_TRY_VOID(co_await set(node, "node.startup", "manual"));
        // A session that was there does not look for new units by itself.
        co_return co_await admin(node, {"-R"});
    }

    EventLoop& loop_;
    FileSystem& files_;
    ProcessRunner& programs_;
    open_iscsi::IscsiRecords records_;
};

}  // namespace

std::unique_ptr<DeviceKind> make_iscsi_devices(EventLoop& loop, FileSystem& files, ProcessRunner& programs) {
    return std::make_unique<Iscsi>(loop, files, programs);
}

}  // namespace porthole::kubelet

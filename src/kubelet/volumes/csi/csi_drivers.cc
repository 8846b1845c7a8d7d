#include "kubelet/volumes/csi/csi_drivers.h"

#include <algorithm>
#include <charconv>

#include "base/result.h"
#include "net/grpc/grpc.h"

namespace porthole::kubelet {
namespace {

namespace csi = api::csi::v1;
using net::GrpcStatus;

constexpr std::size_t LongestName = 63, LongestMessage = 1024;
constexpr std::size_t MostTopologyKeys = 64, MostCapabilities = 256;

/// As Go's library names them.
const char* name_of(GrpcStatus status) {
    constexpr const char* Names[] = {"OK",       "Canceled",       "Unknown",          "InvalidArgument",   "DeadlineExceeded",
                                     "NotFound", "AlreadyExists",  "PermissionDenied", "ResourceExhausted", "FailedPrecondition",
                                     "Aborted",  "OutOfRange",     "Unimplemented",    "Internal",          "Unavailable",
                                     "DataLoss", "Unauthenticated"};
    const auto index = static_cast<std::size_t>(status);
    return index < std::size(Names) ? Names[index] : "Unknown";
}

/// "1.2.3" or "v1.2"; nullopt for what is no version.
std::optional<std::pair<int, int>> parse_version(std::string_view text) {
    if (text.starts_with('v')) text.remove_prefix(1);
    std::pair<int, int> version{0, 0};
    const auto major = std::from_chars(text.data(), text.data() + text.size(), version.first);
    if (major.ec != std::errc() || major.ptr == text.data() + text.size() || *major.ptr != '.') return std::nullopt;
    const auto minor = std::from_chars(major.ptr + 1, text.data() + text.size(), version.second);
    if (minor.ec != std::errc()) return std::nullopt;
    return version;
}

/// The highest that is of major version 1.
std::optional<std::pair<int, int>> highest_version(const std::vector<std::string>& versions) {
    std::optional<std::pair<int, int>> highest;
    for (const std::string& text : versions) {
        const auto version = parse_version(text);
        if (version && version->first == 1 && (!highest || *highest < *version)) highest = version;
    }
    return highest;
}

Error invalid(const PluginInfo& info, const std::string& why) {
    return Error(Reason::BadRequest, "validation failed for CSI Driver " + info.name + " at endpoint " + info.endpoint +
                                         ": kubernetes.io/csi: ValidatePlugin for CSI driver \"" + info.name + "\" failed. " + why);
}

CsiCapabilities capabilities_of(const csi::NodeGetCapabilitiesResponse& answer) {
    using Type = csi::NodeCapabilityType;
    CsiCapabilities capabilities;
    for (const auto& one : answer.capabilities) {
        if (!one.rpc) continue;
        switch (one.rpc->type) {
            case Type::StageUnstageVolume:
                capabilities.stage = true;
                break;
            case Type::GetVolumeStats:
                capabilities.stats = true;
                break;
            case Type::ExpandVolume:
                capabilities.expand = true;
                break;
            case Type::VolumeCondition:
                capabilities.condition = true;
                break;
            case Type::SingleNodeMultiWriter:
                capabilities.single_node_multi_writer = true;
                break;
            case Type::VolumeMountGroup:
                capabilities.mount_group = true;
                break;
            case Type::Unknown:
                break;
        }
    }
    return capabilities;
}

}  // namespace

bool is_csi_driver_name(const std::string& name) {
    const auto is_alphanumeric = [](char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9'); };
    return !name.empty() && name.size() <= LongestName && is_alphanumeric(name.front()) && is_alphanumeric(name.back()) &&
           std::ranges::all_of(name, [&](char c) { return is_alphanumeric(c) || c == '-' || c == '.'; });
}

bool is_final_csi_error(const Error& error) {
    if (error.reason == Reason::Cancelled || error.reason == Reason::Timeout) return false;
    switch (net::grpc_status_of(error)) {
        case GrpcStatus::Cancelled:
        case GrpcStatus::DeadlineExceeded:
        case GrpcStatus::Unavailable:
        case GrpcStatus::ResourceExhausted:
        case GrpcStatus::Aborted:
            return false;
        default:
            return true;
    }
}

/// The driver's words are bounded: they become events and conditions.
Error CsiDrivers::told(Error error) {
    if (error.reason == Reason::Cancelled) return error;
    error.message =
        std::string("rpc error: code = ") + name_of(net::grpc_status_of(error)) + " desc = " + error.message.substr(0, LongestMessage);
    return error;
}

void CsiDrivers::record(const std::string& driver, std::string_view method, const Error* error, MonotonicTime begin) {
    metrics_.add(driver, method, name_of(error ? net::grpc_status_of(*error) : GrpcStatus::Ok), loop_.now() - begin);
}

Task<> CsiDrivers::add_plugin(PluginInfo info) {
    if (!is_csi_driver_name(info.name)) co_return invalid(info, "The name is not that of a CSI driver");
    if (info.versions.empty()) co_return invalid(info, "Plugin returned an empty list for supported versions");
    const auto version = highest_version(info.versions);
    if (!version) co_return invalid(info, "None of the versions specified are supported");
    if (const auto found = drivers_.find(info.name); found != drivers_.end() && found->second->version >= *version)
        co_return invalid(info, "Another driver with the same name is already registered with a higher supported version: \"" +
                                    std::to_string(found->second->version.first) + "." + std::to_string(found->second->version.second) +
                                    "\"");
    const auto instance = std::make_shared<Instance>();
    instance->version = *version;
    instance->connection = connector_.connect(info.endpoint);
    instance->info = std::move(info);
    auto introduced = co_await introduce(instance);
    if (!introduced) {
        const auto closed = co_await instance->connection->close();
        co_return is_cancelled(closed) ? closed : introduced;
    }
    std::shared_ptr<Instance>& place = drivers_[instance->info.name];
    const std::shared_ptr<Instance> replaced = std::exchange(place, instance);
    if (!replaced) co_return {};
    const auto closed = co_await replaced->connection->close();
    if (is_cancelled(closed)) co_return closed;
    co_return {};
}

Task<> CsiDrivers::introduce(std::shared_ptr<Instance> instance) {
    const std::string& name = instance->info.name;
    const auto connection = instance->connection;
    auto identity = co_await connection->call(csi::Identity::GetPluginInfo, {}, CallLimit);
    if (!identity) co_return told(std::move(identity).error()).with_context("GetPluginInfo");
    if (identity->name != name)
        co_return Error(Reason::BadRequest, "CSI driver at endpoint " + instance->info.endpoint + " calls itself \"" +
                                                identity->name.substr(0, LongestName) + "\" and registered as \"" + name + "\"");
    auto answer = co_await instance->connection->call(csi::Node::NodeGetInfo, {}, CallLimit);
    if (!answer) co_return told(std::move(answer).error());
    CsiNodeDriver info;
    info.node_id = std::move(answer->node_id);
    info.most_volumes = answer->max_volumes_per_node;
    if (answer->accessible_topology) info.topology = std::move(answer->accessible_topology->segments);
    if (info.topology.size() > MostTopologyKeys) co_return Error(Reason::BadRequest, "NodeGetInfo returned too many topology segments");
    co_return co_await node_.install(name, std::move(info));
}

Task<> CsiDrivers::refresh_limit(std::string driver) {
    CO_TRY(const csi::NodeGetInfoResponse answer, co_await call(driver, csi::Node::NodeGetInfo, {}));
    co_return co_await node_.set_limit(std::move(driver), answer.max_volumes_per_node);
}

std::vector<std::string> CsiDrivers::names() const {
    std::vector<std::string> names;
    for (const auto& [name, instance] : drivers_) names.push_back(name);
    return names;
}

Task<> CsiDrivers::remove_plugin(PluginInfo info) {
    const auto found = drivers_.find(info.name);
    if (found == drivers_.end() || found->second->info.socket != info.socket) co_return {};
    const std::shared_ptr<Instance> instance = found->second;
    drivers_.erase(found);
    const auto closed = co_await instance->connection->close();
    if (is_cancelled(closed)) co_return closed;
    co_return co_await node_.uninstall(info.name);
}

Result<std::shared_ptr<CsiDrivers::Instance>> CsiDrivers::find(const std::string& driver) const {
    const auto found = drivers_.find(driver);
    if (found == drivers_.end())
        return Error(Reason::NotFound, "driver name " + driver + " not found in the list of registered CSI drivers");
    return found->second;
}

Result<void> CsiDrivers::check_registered(const std::string& driver) const {
    TRY_VOID(find(driver));
    return {};
}

Task<CsiCapabilities> CsiDrivers::capabilities(std::string driver) {
    CO_TRY(const std::shared_ptr<Instance> instance, find(driver));
    if (!instance->capabilities) {
        auto answer = co_await instance->connection->call(csi::Node::NodeGetCapabilities, {}, CallLimit);
        if (!answer) co_return told(std::move(answer).error());
        if (answer->capabilities.size() > MostCapabilities)
            co_return Error(Reason::BadRequest, "NodeGetCapabilities returned too many capabilities");
        instance->capabilities = capabilities_of(*answer);
    }
    co_return *instance->capabilities;
}

}  // namespace porthole::kubelet

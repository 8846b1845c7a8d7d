#include "kubelet/plugins/plugin_registry.h"

#include <algorithm>

#include "base/result.h"
#include "runtime/files/closed_directory.h"

namespace porthole::kubelet {
namespace {

using namespace std::chrono_literals;
namespace registration = api::pluginregistration::v1;

constexpr Duration LookPeriod = 1s, CallLimit = 10s, LongestPause = 2min;

bool is_same(const FileStatus& a, const FileStatus& b) { return a.device == b.device && a.inode == b.inode && a.modified == b.modified; }

}  // namespace

Result<PluginInfo> checked_plugin_info(registration::PluginInfo info, const std::string& socket) {
    const auto refuse = [](const char* what) { return Error(Reason::BadRequest, std::string("plugin registration: ") + what); };
    if (info.type.empty() || info.type.size() > PluginRegistry::LongestName) return refuse("the type is empty or too long");
    if (info.name.empty() || info.name.size() > PluginRegistry::LongestName) return refuse("the name is empty or too long");
    if (info.endpoint.size() > PluginRegistry::LongestEndpoint) return refuse("the endpoint is too long");
    if (info.supported_versions.size() > PluginRegistry::MostVersions) return refuse("there are too many versions");
    for (const std::string& version : info.supported_versions)
        if (version.size() > PluginRegistry::LongestVersion) return refuse("a version is too long");
    // Some give it as a URL.
    constexpr std::string_view Scheme = "unix://";
    std::string endpoint = info.endpoint.starts_with(Scheme) ? info.endpoint.substr(Scheme.size()) : info.endpoint;
    if (endpoint.empty()) endpoint = socket;
    if (!is_absolute_path(endpoint) || endpoint.find('\0') != std::string::npos) return refuse("the endpoint is not an absolute path");
    return PluginInfo{std::move(info.type), std::move(info.name), std::move(endpoint), std::move(info.supported_versions), socket};
}

PluginRegistry::PluginRegistry(EventLoop& loop, FileSystem& files, PluginConnector& connector, Logger log, std::string directory,
                               Options options)
    : loop_(loop),
      files_(files),
      connector_(connector),
      log_(std::move(log)),
      directory_(std::move(directory)),
      options_(options),
      scope_(loop) {}

Task<> PluginRegistry::run() {
    CO_TRY_VOID(create_closed_directory(files_, directory_, log_));  // a plugin that registers gets the secrets of its volumes
    Result<void> slept;
    while (slept) {
        look();
        slept = co_await loop_.sleep(LookPeriod);
    }
    CO_TRY_VOID(co_await scope_.close());
    co_return slept;
}

bool PluginRegistry::may_be_socket(const FileStatus& status) const {
    return status.type == FileType::Socket || (options_.files_may_be_sockets && status.is_regular());
}

/// Begins what is due: one step at a time for each socket.
void PluginRegistry::look() {
    std::map<std::string, FileStatus> found;
    const auto names = files_.list(directory_);
    // What cannot be looked at now is not gone.
    if (!names && !is_not_found(names)) return;
    for (const std::string& name : names.value_or(std::vector<std::string>())) {
        if (name.starts_with('.') || found.size() == MostPlugins) continue;
        const std::string path = directory_ + "/" + name;
        if (const auto status = files_.link_status(path); status && may_be_socket(*status)) found.emplace(path, *status);
    }
    for (const auto& [path, status] : found) plugins_.try_emplace(path, Plugin{.file = status});
    for (auto at = plugins_.begin(); at != plugins_.end();) {
        Plugin& plugin = at->second;
        const auto seen = found.find(at->first);
        plugin.gone = seen == found.end() || !is_same(seen->second, plugin.file);
        if (plugin.busy) {
            ++at;
        } else if (plugin.gone && !plugin.registered) {
            at = plugins_.erase(at);
        } else {
            if (plugin.gone || plugin.next <= loop_.now()) {
                plugin.busy = true;
                scope_.spawn(plugin.registered && !plugin.gone ? check(at->first) : settle(at->first));
            }
            ++at;
        }
    }
}

Task<> PluginRegistry::settle(std::string socket) {
    Plugin& plugin = plugins_.at(socket);
    if (plugin.gone) {
        CO_TRY_VOID(co_await remove(plugin));
        plugins_.erase(socket);
        co_return {};
    }
    const auto registered = co_await register_plugin(plugin, socket);
    if (is_cancelled(registered)) co_return registered;
    plugin.busy = false;
    if (registered) {
        plugin.registered = true;
        plugin.next = loop_.now() + options_.check_period;
        log_.info("plugin registered", {{"plugin", plugin.info.name}, {"type", plugin.info.type}, {"socket", socket}});
        co_return {};
    }
    plugin.next = loop_.now() + std::min<Duration>(1s * (1 << std::min(plugin.failures++, 7)), LongestPause);
    log_.warn("plugin not registered", {{"socket", socket}, {"error", registered.error().message}});
    co_return {};
}

/// Whether a registered plugin is still served. One that hangs is: its socket takes connections.
Task<> PluginRegistry::check(std::string socket) {
    Plugin& plugin = plugins_.at(socket);
    const auto reached = co_await with_timeout(connector_.reach(plugin.info.endpoint), CallLimit, "plugin");
    if (is_cancelled(reached)) co_return reached;
    plugin.next = loop_.now() + options_.check_period;
    if (reached || reached.error().reason != Reason::Unavailable) {
        plugin.silent_since.reset();
    } else if (!plugin.silent_since) {
        plugin.silent_since = loop_.now();
    } else if (loop_.now() - *plugin.silent_since >= options_.longest_silence) {
        CO_TRY_VOID(co_await remove(plugin));
        plugin.silent_since.reset();
        plugin.registered = false;
        plugin.failures = 0;
    }
    plugin.busy = false;
    co_return {};
}

/// Error: Cancelled only.
Task<> PluginRegistry::remove(Plugin& plugin) {
    const auto removed = co_await handlers_.at(plugin.info.type)->remove_plugin(plugin.info);
    if (is_cancelled(removed)) co_return removed;
    log_.info("plugin is gone", {{"plugin", plugin.info.name}, {"socket", plugin.info.socket}});
    co_return {};
}

Task<PluginInfo> PluginRegistry::introduce(PluginConnection& connection, std::string socket) {
    CO_TRY(registration::PluginInfo info, co_await connection.call(registration::Registration::GetInfo, {}, CallLimit));
    co_return checked_plugin_info(std::move(info), socket);
}

Task<> PluginRegistry::register_plugin(Plugin& plugin, std::string socket) {
    const auto connection = connector_.connect(socket);
    auto info = co_await introduce(*connection, socket);
    Result<void> result;
    if (!info) {
        result = info.error();
    } else {
        plugin.info = *info;
        const auto handler = handlers_.find(info->type);
        result =
            handler == handlers_.end()
                ? Result<void>(Error(Reason::BadRequest, "no handler registered for plugin type: " + info->type + " at socket " + socket))
                : co_await handler->second->add_plugin(*info);
        if (!is_cancelled(result)) {
            registration::RegistrationStatus status;
            status.plugin_registered = result.has_value();
            if (!result) status.error = result.error().message;
            const auto told = co_await connection->call(registration::Registration::NotifyRegistrationStatus, std::move(status), CallLimit);
            if (result && !told) {
                result = told.error();
                if (!is_cancelled(told)) CO_TRY_VOID(co_await handler->second->remove_plugin(*info));
            }
        }
    }
    CO_TRY_VOID(co_await connection->close());
    co_return result;
}

}  // namespace porthole::kubelet

#pragma once
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "api/pluginregistration_v1.h"
#include "base/log.h"
#include "kubelet/plugins/plugin_connection.h"
#include "runtime/event_loop.h"
#include "runtime/files/file_system.h"
#include "runtime/scope.h"

namespace porthole::kubelet {

/// A plugin as it introduced itself. Within bounds, but otherwise as the plugin has it.
struct PluginInfo {
    std::string type, name;
    std::string endpoint;  ///< the socket on which it serves: an absolute path
    std::vector<std::string> versions;
    std::string socket;  ///< by which it registered: identifies the instance
};

/// Handles the plugins of one type ("DRAPlugin", "CSIPlugin"). Called on the kubelet's loop.
class PluginHandler {
public:
    virtual ~PluginHandler() = default;
    /// Error: why it cannot be used; it is reported to the plugin, which is asked again later.
    virtual Task<> add_plugin(PluginInfo info) = 0;
    /// The instance that registered by `socket` is gone. No effect for one that was not added.
    virtual Task<> remove_plugin(PluginInfo info) = 0;
};

/// Finds plugins. A plugin creates a socket in a directory, on which it describes itself and is told whether it is registered; to
/// unregister, it removes the socket. Checks every second; a failing plugin is retried after 1 s, doubling to 2 min. A plugin that was
/// killed leaves its socket behind: if no program has listened at its endpoint for a while, it is unregistered too, until it registers
/// again. Lives on `loop`; all references outlive it.
class PluginRegistry {
public:
    static constexpr std::size_t MostPlugins = 256;  ///< maximum number of sockets
    static constexpr std::size_t LongestName = 253, LongestEndpoint = 4096, MostVersions = 32, LongestVersion = 63;

    struct Options {
        bool files_may_be_sockets = false;  ///< also try plain files, because not every Windows shows a socket as one
        Duration check_period = std::chrono::seconds(10);
        Duration longest_silence = std::chrono::seconds(30);  ///< longer than the restart of a driver's container takes
    };
    PluginRegistry(EventLoop& loop, FileSystem& files, PluginConnector& connector, Logger log, std::string directory, Options options);

    /// Before run(). The handler outlives the registry's tasks.
    void add_handler(const std::string& type, PluginHandler& handler) { handlers_[type] = &handler; }
    /// Runs until cancelled. Creates the directory. Error: Io if it cannot.
    Task<> run();

private:
    struct Plugin {
        FileStatus file;  ///< a socket that was created again is another plugin
        bool busy = false, registered = false, gone = false;
        int failures = 0;
        MonotonicTime next{};  ///< time of the next attempt or check
        std::optional<MonotonicTime> silent_since;
        PluginInfo info;
    };

    bool may_be_socket(const FileStatus& status) const;
    void look();
    Task<> settle(std::string socket);
    Task<> check(std::string socket);
    Task<> remove(Plugin& plugin);
    Task<PluginInfo> introduce(PluginConnection& connection, std::string socket);
    Task<> register_plugin(Plugin& plugin, std::string socket);

    EventLoop& loop_;
    FileSystem& files_;
    PluginConnector& connector_;
    Logger log_;
    std::string directory_;
    Options options_;
    std::map<std::string, PluginHandler*> handlers_;
    std::map<std::string, Plugin> plugins_;  ///< by socket
    Scope scope_;
};

/// Error: BadRequest if a value is out of bounds.
Result<PluginInfo> checked_plugin_info(api::pluginregistration::v1::PluginInfo info, const std::string& socket);

}  // namespace porthole::kubelet

#pragma once
#include <algorithm>
#include <cstdio>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "client/informers/informer.h"
#include "cmd/node/program_log.h"
#include "cmd/program/runtime_setup.h"
#include "node_join/api_balancer.h"
#include "node_join/connection.h"
#include "runtime/files/file_system.h"

namespace porthole::cmd {

/// A long-running program of a node, such as the kubelet: the common parts, and its start and end.
///
/// A program's own class creates the component in start() from its options and ends it in close(); both run on world.loop.
class NodeProgram {
public:
    /// `user_agent` is the program's name in requests and audit logs. `world` outlives it.
    NodeProgram(RealWorld& world, Logger log, const std::string& user_agent);
    virtual ~NodeProgram() = default;

    /// Error: why it cannot start, in one line.
    virtual Task<> start() = 0;
    /// Also called after a start() that failed.
    virtual Task<> close() = 0;
    /// Whether the program ends after start(), such as one that removes leftovers.
    virtual bool ends_after_start() const { return false; }

    /// Starts it, waits for a request to stop, and closes it. It stops by a signal or Ctrl-C; with a `service` name (Windows), by the
    /// service manager. Errors are logged, since a service has no standard error, and printed. Exit codes: 0 after a requested stop, 1
    /// after an error.
    int run(const std::string& service = "");

protected:
    /// Opens the connection to the API server, serves the node's balancer if it has one, and creates the client and the informers.
    /// `server`, unless "", takes precedence over the kubeconfig's.
    Result<void> connect(const std::string& kubeconfig, const std::string& server = "");
    /// Creates the client and the informers on another transport, which outlives them.
    void use(client::Transport& transport);
    /// This machine's address on the route to the API server. Requires: connect(). Error: with a remedy that names the flag --node-ip.
    Result<std::string> own_address() const;
    /// The machine's name as kubelets register it: in lower case.
    std::string own_node_name() const;
    /// Closes scope_, the informers and the connection to the API server.
    Task<> close_parts();
    /// The program closes and exits with 1: without the part that has ended it is of no use.
    void end_because(const Error& error);

    RealWorld& world_;
    Logger log_;
    SystemRandom random_;
    std::unique_ptr<FileSystem> files_ = make_file_system();
    node_join::NodeConnection connection_;
    std::unique_ptr<node_join::ApiBalancer> balancer_;  ///< null if the kubeconfig names a server itself
    std::unique_ptr<client::Client> client_;
    std::unique_ptr<client::Informers> informers_;
    Scope scope_;  ///< for the program's tasks; derived classes close their own objects in close()

private:
    Event* stop_ = nullptr;  ///< while it runs
    Result<void> broken_;

    int run_on_console();
    int run_until(Event& stop, const std::function<void()>& started);
};

/// The skeleton's requirements for a program with upstream's flags. `Program` is constructed from (RealWorld&, Options, Logger); `Options`
/// has windows_service, verbosity, log_to_stderr, log_directory and warnings.
template <class Options>
struct NodeProgramFlags {
    const char* name;     ///< of the program, its log and its service
    const char* summary;  ///< the first line of --help
    std::string help;     ///< of the flags
    /// Error: one line about the first flag that is wrong.
    std::function<Result<Options>(const std::vector<std::string>& arguments, FileSystem& files)> parse;
};

/// The whole command: --help, flags, log, and the program until it ends. Exit code 255 for wrong flags, as upstream's.
template <class Program, class Options>
int run_node_program(const NodeProgramFlags<Options>& flags, const std::vector<std::string>& arguments) {
    if (std::ranges::any_of(arguments, [](const std::string& word) { return word == "--help" || word == "-h"; })) {
        std::printf("%s\n\n%s", flags.summary, flags.help.c_str());
        return 0;
    }
    auto options = flags.parse(arguments, *make_file_system());
    if (!options) {
        (void)fail(options.error().message);
        return 255;
    }
    ProgramLog where{.to_stderr = options->log_to_stderr, .verbosity = options->verbosity, .directory = options->log_directory};
    if constexpr (requires { options->log_file; }) where.file = options->log_file;
    RealWorld world;
    Logger log(open_log(where, flags.name), flags.name);
    for (const std::string& warning : options->warnings) log.warn(warning);
    const std::string service = options->windows_service ? flags.name : "";
    Program program(world, *std::move(options), std::move(log));
    return program.run(service);
}

}  // namespace porthole::cmd

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

/// A long-lived program of a node, such as the kubelet: the parts that all of them have, and how they start and end.
///
/// A program's own class constructs the component in start() from its options and ends it in close(); both run on world.loop.
class NodeProgram {
public:
    /// `user_agent` is what API servers and their audit logs call the program. `world` outlives it.
    NodeProgram(RealWorld& world, Logger log, const std::string& user_agent);
    virtual ~NodeProgram() = default;

    /// Error: what keeps it from starting, in one line.
    virtual Task<> start() = 0;
    /// Called also after a start() that failed half-way.
    virtual Task<> close() = 0;
    /// Whether start() was all there is to do, such as removing what an earlier run left.
    virtual bool ends_after_start() const { return false; }

    /// Starts it, waits until it is to stop, and closes it. It stops by a signal or Ctrl-C; with a `service` name (Windows), when the
    /// service manager says so. What went wrong is logged, since a service has no standard error, and printed. Exit codes: 0 after a
    /// clean stop, 1 after an error.
    int run(const std::string& service = "");

protected:
    /// Opens the connection to the API server, serves the node's own way to it where there is one, and makes the client and the informers
    /// on it. `server` wins over the kubeconfig's unless "".
    Result<void> connect(const std::string& kubeconfig, const std::string& server = "");
    /// Makes the client and the informers on another transport, which outlives them.
    void use(client::Transport& transport);
    /// This machine's address on the way to the API server. Requires: connect(). Error: with the remedy, for a program that has the
    /// flag --node-ip.
    Result<std::string> own_address() const;
    /// The machine's name as kubelets register it: in lower case.
    std::string own_node_name() const;
    /// Ends scope_, the informers and the way to the API server.
    Task<> close_parts();
    /// The program closes and exits with 1: without the part that has ended it is of no use.
    void end_because(const Error& error);

    RealWorld& world_;
    Logger log_;
    SystemRandom random_;
    std::unique_ptr<FileSystem> files_ = make_file_system();
    node_join::NodeConnection connection_;
    std::unique_ptr<node_join::ApiBalancer> balancer_;  ///< null where the kubeconfig names a server itself
    std::unique_ptr<client::Client> client_;
    std::unique_ptr<client::Informers> informers_;
    Scope scope_;  ///< of the program's tasks; what lives in derived classes must be closed by their close()

private:
    Event* stop_ = nullptr;  ///< while it runs
    Result<void> broken_;

    int run_on_console();
    int run_until(Event& stop, const std::function<void()>& started);
};

/// What the skeleton needs to know of a program whose flags are upstream's. `Program` is constructed from (RealWorld&, Options, Logger);
/// `Options` says by windows_service, verbosity, log_to_stderr and log_directory how it runs and logs, and has warnings.
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

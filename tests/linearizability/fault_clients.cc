// Clients of several servers, for tests that disturb those: fault_clients KUBECONFIG... It takes commands from its standard input, a line
// each, and answers each with a line:
//   begin NAME   starts clients, whose keys begin with NAME           ok
//   count        what those that stay with one server were answered   N N N, by server
//   end          ends them, and checks what all were told             ok N answers, M events
// It ends with its input, and after an answer of several lines that begins with "error: " or "violation: ".
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <iostream>
#include <string>

#include "linearizability/workload.h"
#include "local_cluster/admin_client.h"
#include "runtime/run_task.h"

namespace porthole::linearizability {
namespace {

using namespace std::chrono_literals;
using Servers = std::vector<std::unique_ptr<local_cluster::AdminClient>>;

class FaultClients {
public:
    FaultClients(AsioLoop& loop, const Servers& servers) : loop_(loop) {
        for (const auto& server : servers) clients_.push_back(&server->client);
    }

    std::string answer(const std::string& line) {
        if (line.starts_with("begin ")) return begin(line.substr(6));
        if (!workload_) return "error: nothing has begun";
        if (line == "count") return count();
        if (line == "end") return end();
        return "error: begin NAME, count or end";
    }

private:
    /// Slow clients: histories of ten thousand answers are checked in a moment, and the servers have processor time left.
    std::string begin(std::string name) {
        workload_ = std::make_unique<Workload>(
            loop_, clients_, random_,
            Workload::Options{
                .writers = 4 * static_cast<int>(clients_.size()), .watchers = 4, .keys = 8, .pause = 40ms, .name = std::move(name)});
        workload_->start();
        return "ok";
    }
    std::string count() const {
        std::string text;
        for (const std::size_t done : workload_->done_by_server()) text += (text.empty() ? "" : " ") + std::to_string(done);
        return text;
    }
    std::string end() {
        const Result<void> finished = run_task(loop_, workload_->finish());
        if (!finished) return "error: " + finished.error().message;
        const History& history = workload_->history();
        if (const std::string wrong = find_violation(history); !wrong.empty()) return "violation: " + wrong;
        std::size_t events = 0;
        for (const Watch& watch : history.watches) events += watch.events.size();
        const std::string told = std::to_string(workload_->done()) + " answers, " + std::to_string(events) + " events";
        workload_.reset();
        return "ok " + told;
    }

    AsioLoop& loop_;
    std::vector<client::Client*> clients_;
    SystemRandom random_;
    std::unique_ptr<Workload> workload_;
};

int serve(const std::vector<std::string>& kubeconfigs) {
    AsioLoop loop;
    Servers servers;
    for (const std::string& kubeconfig : kubeconfigs) {
        auto server = local_cluster::connect_as_admin(loop, kubeconfig, ".");
        if (!server) {
            std::cerr << kubeconfig << ": " << server.error().message << "\n";
            return 1;
        }
        servers.push_back(std::move(*server));
    }
    FaultClients clients(loop, servers);
    pollfd input{.fd = STDIN_FILENO, .events = POLLIN, .revents = 0};
    for (;;) {
        if (!run_task(loop, loop.sleep(20ms))) return 1;
        if (::poll(&input, 1, 0) == 0) continue;
        std::string line;
        if (!std::getline(std::cin, line)) return 0;
        const std::string answer = clients.answer(line);
        std::cout << answer << std::endl;
        if (answer.starts_with("error: ") || answer.starts_with("violation: ")) return 1;
    }
}

}  // namespace
}  // namespace porthole::linearizability

int main(int argc, char** argv) { return porthole::linearizability::serve({argv + 1, argv + argc}); }

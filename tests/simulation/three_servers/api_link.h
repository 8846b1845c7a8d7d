#pragma once
#include <memory>
#include <vector>

#include "client/transport.h"
#include "runtime/random.h"
#include "runtime/scope.h"
#include "runtime/sim/sim_loop.h"

namespace porthole::simulation {

/// Where each server can be reached at present; null where nothing listens.
using Addresses = std::vector<client::Transport*>;

/// One client's network to the servers. It stays with a server as long as that one answers, as behind the balancer of a node, and has the
/// limits of time that such a client has. What is under way breaks at once when the server's process ends; a process that stands still
/// breaks nothing. May be used from the loop of another process. close() it before the servers go.
class ApiLink final : public client::Transport {
public:
    struct Faults {
        bool refuses = false;         ///< no connection is made
        bool loses_requests = false;  ///< they do not arrive
        bool loses_answers = false;   ///< requests are carried out, and their answers do not arrive
        bool holds_watches = false;   ///< the client does not read what watches send
        Duration delay = std::chrono::microseconds(200);
        Duration jitter = std::chrono::microseconds(300);
    };
    static constexpr Duration AnswerTime = std::chrono::seconds(10);

    /// `only` is the server that it stays with; otherwise whichever answers. The references outlive it.
    ApiLink(sim::SimLoop& loop, Random& random, const Addresses& addresses, std::optional<std::size_t> only = {});

    Task<client::ApiResponse> call(client::ApiRequest request) override;
    Task<std::unique_ptr<client::ApiStream>> watch(client::ApiRequest request) override;

    Faults& faults() { return faults_; }
    /// After a change of faults().
    void changed() { changes_.wake_all({}); }
    void heal();
    /// What is under way with a server, or with all, breaks.
    void cut(std::optional<std::size_t> server = {});
    std::size_t open_watches() const { return flows_.size(); }
    /// How often a request or a watch met a fault.
    std::size_t met() const { return met_; }
    Task<> close();

private:
    struct Call;
    struct Flow;
    class Stream;
    template <class T>
    Task<T> exchange(client::ApiRequest request, Task<T> (ApiLink::*far)(std::size_t, client::ApiRequest));
    Task<client::ApiResponse> call_far(std::size_t server, client::ApiRequest request);
    Task<std::unique_ptr<client::ApiStream>> watch_far(std::size_t server, client::ApiRequest request);
    Task<> pump(std::shared_ptr<Flow> flow);
    Task<> travel();
    Task<> wait();
    void move_on(std::size_t server);

    sim::SimLoop& loop_;
    Random& random_;
    const Addresses& addresses_;
    const bool stays_;
    std::size_t current_;
    Faults faults_;
    std::size_t met_ = 0;
    WaitList<void> changes_;
    std::vector<std::shared_ptr<Call>> calls_;  ///< in order of time, as are the next: an order of addresses is not the seed's
    std::vector<std::shared_ptr<Flow>> flows_;
    Scope scope_;
};

}  // namespace porthole::simulation

#pragma once
#include <string>
#include <vector>

#include "api/core_v1.h"
#include "client/client.h"
#include "linearizability/history.h"
#include "runtime/random.h"
#include "runtime/scope.h"

namespace porthole::linearizability {

/// Clients that create, update, delete, get and list a few config maps of the namespace `default` as fast as answers come, watchers that
/// follow them, and what all of them were told. Servers may go away and come back at any time. Where there are several, every other
/// writer stays with one of them; the other writers, and the watchers, change with every request.
class Workload {
public:
    struct Options {
        int writers = 4, watchers = 2, keys = 3;
        Duration pause = std::chrono::milliseconds(3);   ///< between two requests of a client, at most twice that
        Duration retry = std::chrono::milliseconds(20);  ///< after a request without an answer, and between two watches
        std::string name = "key";                        ///< what keys begin with: of two workloads on one cluster, different ones
    };
    /// All of them run on `loop`, which with `servers`, a client of each, and `random` must outlive them.
    Workload(EventLoop& loop, std::vector<client::Client*> servers, Random& random, Options options);
    Workload(EventLoop& loop, client::Client& server, Random& random, Options options)
        : Workload(loop, std::vector{&server}, random, std::move(options)) {}

    void start();
    /// What is under way until over() does not count as answered, whatever comes: the server is dying.
    void server_dies() { dying_ = true; }
    void server_is_back() { dying_ = false; }
    /// Ends all clients, and the watchers when they have been shown what a last list shows.
    Task<> finish();

    const History& history() const { return history_; }
    std::size_t done() const { return done_; }
    /// Answers that each server has given to the writers that stay with it.
    const std::vector<std::size_t>& done_by_server() const { return done_by_server_; }

private:
    static constexpr int Watcher = -1;  ///< the number of all of them
    Task<> write(int number);
    Task<> operate(int number, std::map<std::string, std::uint64_t>& known);
    Task<> list(int number);
    Task<> follow();
    Task<std::string> follow_once(Watch& watch);
    Task<bool> take_event(Watch& watch, const std::string& document);
    Task<> wait_for_server(int number);
    Task<Objects> list_once(client::Client& server, std::uint64_t& revision);
    Moment now() { return ++clock_; }
    bool stays(int number) const { return number % 2 == 0; }
    std::size_t home(int number) const { return static_cast<std::size_t>(number) / 2 % servers_.size(); }
    client::Client& any_server() { return *servers_[random_.below(servers_.size())]; }
    client::Client& server_of(int number) { return stays(number) ? *servers_[home(number)] : any_server(); }
    api::core::v1::ConfigMap config_map(const Operation& operation) const;

    EventLoop& loop_;
    std::vector<client::Client*> servers_;
    Random& random_;
    Options options_;
    client::ListOptions ours_;
    std::vector<std::size_t> done_by_server_;
    Scope writers_{loop_}, watchers_{loop_};
    History history_;
    Moment clock_ = 0;
    std::size_t done_ = 0;
    int next_value_ = 0;
    bool dying_ = false, finishing_ = false;
};

}  // namespace porthole::linearizability

#pragma once
#include <string>

#include "client/client.h"
#include "linearizability/history.h"
#include "runtime/random.h"
#include "runtime/scope.h"

namespace porthole::linearizability {

/// Clients that create, update, delete, get and list a few config maps of the namespace `default` as fast as answers come, watchers that
/// follow them, and what all of them were told. The server may go away and come back at any time.
class Workload {
public:
    struct Options {
        int writers = 4, watchers = 2, keys = 3;
        Duration pause = std::chrono::milliseconds(3);  ///< between two requests of a client, at most twice that
    };
    /// All of them run on `loop`, which with `client` and `random` must outlive them.
    Workload(EventLoop& loop, client::Client& client, Random& random, Options options);

    void start();
    /// What is under way until over() does not count as answered, whatever comes: the server is dying.
    void server_dies() { dying_ = true; }
    void server_is_back() { dying_ = false; }
    /// Ends all clients, and the watchers when they have been shown what a last list shows.
    Task<> finish();

    const History& history() const { return history_; }
    std::size_t done() const { return done_; }

private:
    Task<> write(int number);
    Task<> operate(int number, std::map<std::string, std::uint64_t>& known);
    Task<> list(int number);
    Task<> follow();
    Task<std::string> follow_once(Watch& watch);
    Task<bool> take_event(Watch& watch, const std::string& document);
    Task<> wait_for_server();
    Task<Objects> list_once(std::uint64_t& revision);
    Moment now() { return ++clock_; }

    EventLoop& loop_;
    client::Client& client_;
    Random& random_;
    Options options_;
    Scope writers_{loop_}, watchers_{loop_};
    History history_;
    Moment clock_ = 0;
    std::size_t done_ = 0;
    int next_value_ = 0;
    bool dying_ = false, finishing_ = false;
};

}  // namespace porthole::linearizability

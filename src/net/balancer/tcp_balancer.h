#pragma once
#include <chrono>
#include <functional>
#include <list>
#include <memory>
#include <string>
#include <vector>

#include "base/log.h"
#include "net/byte_stream.h"
#include "runtime/random.h"
#include "runtime/scope.h"
#include "runtime/sync.h"

namespace porthole::net {

enum class ServerHealth {
    Unknown,   ///< not asked yet
    Ready,     ///< takes connections
    NotReady,  ///< answers, but asks for no further connections: it starts, or is about to end
    Dead,      ///< does not answer
};

/// "ready", "not ready", "dead", "unknown".
const char* to_text(ServerHealth health);

/// What a balancer knows of a server. A plain value.
struct BalancedServer {
    std::string name;
    ServerHealth health = ServerHealth::Unknown;
    bool listed = true;    ///< false: no longer in the list; drained, or kept as a reserve
    bool reserve = false;  ///< never forgotten: tried when no listed server lives
    bool in_use = false;   ///< the next connection goes there first
    bool operator==(const BalancedServer&) const = default;
};

/// Carries connections to one of several servers.
///
/// All connections go to the server in use, for as long as it is ready: a client that has several connections has them with one server.
/// Each server is probed. One that is refused, or says nothing for `answer` while it is asked, is dead: the others are asked at once, and
/// its connections are cut as soon as one of them answers. Where none does they are left alone, as the failure may be this machine's. With
/// the times below a server that falls silent is given up within 4.7 s, and one whose system refuses connections at once.
///
/// A server that is not in the list any more gets no new connections, and those that it has are cut after `drain`; but only once a listed
/// server lives, so that a wrong list cuts no one off. An empty list is not believed.
///
/// Lives on one loop. close() it before destroying it, after all tasks of serve() have ended.
class TcpBalancer {
public:
    struct Seams {
        EventLoop& loop;
        Random& random;  ///< where to begin: clients that know the same list do not all choose the same server
        /// Connects to a server. Its time is limited here.
        std::function<Task<std::unique_ptr<ByteStream>>(std::string name)> dial;
        /// Whether the server is ready. Any error means that it does not answer.
        std::function<Task<bool>(std::string name)> probe;
        Logger log;
    };
    struct Times {
        Duration connect = std::chrono::milliseconds(1500);
        Duration answer = std::chrono::milliseconds(2500);
        Duration period_in_use = std::chrono::seconds(2);  ///< between two probes of a server with connections
        Duration period_idle = std::chrono::seconds(10);   ///< of another
        Duration drain = std::chrono::seconds(10);
    };

    explicit TcpBalancer(Seams seams) : TcpBalancer(std::move(seams), Times()) {}
    TcpBalancer(Seams seams, Times times) : seams_(std::move(seams)), times_(times), probes_(seams_.loop) {}

    /// The servers, from now on. Those of `reserve` are tried when no listed one lives. Ignored when `listed` is empty, and there were
    /// some.
    void set_servers(const std::vector<std::string>& listed, const std::vector<std::string>& reserve);
    /// Called on the loop after servers() has changed.
    void on_change(std::function<void()> told) { told_ = std::move(told); }
    std::vector<BalancedServer> servers() const;

    /// Carries one connection until both sides have ended it, or until it is cut. Error: Unavailable when no server takes it.
    Task<> serve(std::unique_ptr<ByteStream> client);
    /// Ends the probes. Connections end with the tasks of serve().
    Task<> close() { return probes_.close(); }

private:
    struct Connection {
        ByteStream& client;
        ByteStream& server;
    };
    struct Server {
        BalancedServer known;
        bool refused = false;  ///< a connection failed since the last probe
        bool forgotten = false;
        MonotonicTime unlisted_at{};
        MonotonicTime heard{};     ///< the last byte of any connection
        MonotonicTime answered{};  ///< the last answer to a probe
        MonotonicTime died{};      ///< when it was found dead
        std::list<Connection> connections;
        Event wake;  ///< probe now
    };
    using ServerPtr = std::shared_ptr<Server>;
    class Heard;

    ServerPtr find(const std::string& name) const;
    void add(const std::string& name);
    std::vector<ServerPtr> in_order() const;
    Task<ServerPtr> dial_any(std::unique_ptr<ByteStream>& stream);
    Task<> watch(ServerPtr server);
    Task<> probe(ServerPtr server);
    /// Chooses the server in use, cuts what is to be cut, and forgets servers.
    void settle();
    void cut(Server& server, const char* why);
    void found_dead(Server& server);

    Seams seams_;
    const Times times_;
    std::vector<ServerPtr> servers_;  ///< in the order in which they are tried where nothing else decides
    std::vector<BalancedServer> told_of_;
    std::function<void()> told_;
    Scope probes_;
};

}  // namespace porthole::net

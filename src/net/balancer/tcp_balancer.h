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
    Unknown,   ///< not probed yet
    Ready,     ///< accepts connections
    NotReady,  ///< answers, but asks for no further connections: it is starting or shutting down
    Failing,   ///< answers, but can do nothing for its clients: it is cut off from what it needs itself
    Dead,      ///< does not answer
};

/// "ready", "not ready", "failing", "dead", "unknown".
const char* to_text(ServerHealth health);

/// What a balancer knows about a server. A plain value.
struct BalancedServer {
    std::string name;
    ServerHealth health = ServerHealth::Unknown;
    bool listed = true;    ///< false: removed from the list, and being drained or kept as a reserve
    bool reserve = false;  ///< never removed; used if no listed server is alive
    bool in_use = false;   ///< the next connection goes there first
    bool operator==(const BalancedServer&) const = default;
};

/// Distributes client connections over several servers.
///
/// All connections go to the server in use as long as it is ready, so a client with several connections has them all with one server. Each
/// server is probed. A server that refuses a connection, or sends nothing for `answer` during a probe, is dead: the others are probed at
/// once, and as soon as one of them answers, the dead server's connections are cut. If none answers, they are kept, because the failure may
/// be this machine's. With the default times, a silent server is given up within 4.7 s, and one that refuses connections at once.
///
/// The connections of a failing server are cut, too, if it still fails `confirm` after another one was found ready. Where all fail and
/// recover at about the same time, as servers do whose common store elects a leader, nothing is cut.
///
/// A server that is removed from the list gets no new connections, and its existing ones are cut after `drain`, but only once a listed
/// server is alive, so that a wrong list cuts no one off. An empty list is ignored.
///
/// Lives on one loop. close() it before destroying it, after all tasks of serve() have ended.
class TcpBalancer {
public:
    struct Seams {
        EventLoop& loop;
        Random& random;  ///< chooses where to begin, so that clients with the same list do not all choose the same server
        /// Connects to a server. The balancer limits the time.
        std::function<Task<std::unique_ptr<ByteStream>>(std::string name)> dial;
        /// Ready, NotReady or Failing. Any error means that the server does not answer.
        std::function<Task<ServerHealth>(std::string name)> probe;
        Logger log;
    };
    struct Times {
        Duration connect = std::chrono::milliseconds(1500);
        Duration answer = std::chrono::milliseconds(2500);
        Duration period_in_use = std::chrono::seconds(2);   ///< between two probes of a server with connections
        Duration period_idle = std::chrono::seconds(10);    ///< between two probes of any other server
        Duration confirm = std::chrono::milliseconds(300);  ///< until a failing server is asked again
        Duration drain = std::chrono::seconds(10);
    };

    explicit TcpBalancer(Seams seams) : TcpBalancer(std::move(seams), Times()) {}
    TcpBalancer(Seams seams, Times times) : seams_(std::move(seams)), times_(times), probes_(seams_.loop) {}

    /// Replaces the servers. Those of `reserve` are used if no listed one is alive. An empty `listed` is ignored, unless there were none
    /// before.
    void set_servers(const std::vector<std::string>& listed, const std::vector<std::string>& reserve);
    /// `told` is called on the loop whenever servers() changes.
    void on_change(std::function<void()> told) { told_ = std::move(told); }
    std::vector<BalancedServer> servers() const;

    /// Carries one connection until both sides have ended it or it is cut. Error: Unavailable if no server accepts it.
    Task<> serve(std::unique_ptr<ByteStream> client);
    /// Ends the probes. Connections end when the tasks of serve() do.
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
        MonotonicTime heard{};     ///< when a byte last arrived on any connection
        MonotonicTime answered{};  ///< when a probe was last answered
        MonotonicTime ready{};     ///< when it was found ready after anything else
        MonotonicTime lost{};      ///< when it was found dead, or failing
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
    /// Chooses the server in use, cuts connections, and forgets servers, as described above.
    void settle();
    void cut(Server& server, const char* why);
    /// Has others probed that the change concerns. `why` is for the log, of a server that is lost.
    void note_change(Server& server, ServerHealth before, const std::string& why);
    bool is_to_be_cut(const Server& server) const;
    Duration period(const Server& server) const;

    Seams seams_;
    const Times times_;
    std::vector<ServerPtr> servers_;  ///< in the order in which they are tried if nothing else decides
    std::vector<BalancedServer> told_of_;
    std::function<void()> told_;
    Scope probes_;
};

}  // namespace porthole::net

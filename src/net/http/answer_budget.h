#pragma once
#include <atomic>
#include <cstddef>
#include <list>

#include "runtime/event_loop.h"

namespace porthole::net {

/// Memory for answers that the peers of one server have not read yet. Outlives its shares.
class AnswerBudget {
public:
    /// One connection's share.
    class Share {
    public:
        /// `end` drops the connection; it is called at most once, from within add() of any connection. Null budget: no limit.
        Share(AnswerBudget* budget, Callback end);
        ~Share() { leave(); }
        Share(const Share&) = delete;

        void add(std::size_t bytes);
        void remove(std::size_t bytes);
        /// On any thread.
        std::size_t bytes() const { return bytes_; }

    private:
        friend AnswerBudget;
        void leave();

        AnswerBudget* budget_;  ///< null once it has left
        Callback end_;
        std::atomic<std::size_t> bytes_ = 0;
        std::list<Share*>::iterator place_;
    };

    explicit AnswerBudget(std::size_t limit) : limit_(limit) {}

private:
    /// Ends the connection that holds most; among equal ones, the one that has held something for longest. So peers that do not read are
    /// the ones that lose their connection.
    void end_largest();

    const std::size_t limit_;
    std::size_t held_ = 0;
    std::list<Share*> shares_;  ///< in the order in which they began to hold something
};

}  // namespace porthole::net

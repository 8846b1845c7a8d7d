#include "net/fair_stream.h"

#include <algorithm>

namespace porthole::net {
namespace {

constexpr std::size_t BytesInTurn = 66 << 10;  ///< written in one piece: some 20 µs; 64 KiB with their records of TLS are one piece

/// Shared by tasks that wait in the stream.
struct FairState {
    Turns& turns;
    std::shared_ptr<Flow> flow;
    std::unique_ptr<ByteStream> lower;
    std::size_t left = BytesInTurn;  ///< what may be written before the next turn
};
using FairPointer = std::shared_ptr<FairState>;

Task<std::size_t> read_in_turn(FairPointer state, std::span<char> buffer) {
    CO_TRY(const std::size_t count, co_await state->lower->read(buffer));
    Turns::Place place(state->turns);
    const Flow::Reading reading(*state->flow, place);
    if (!place.begin(state->flow->user(), state->flow->stage()))
        (void)co_await place;  // what has been read is not lost, even if the task is cancelled
    state->left = BytesInTurn;
    co_return count;
}

Task<> write_in_turns(FairPointer state, std::string_view bytes) {
    while (!bytes.empty()) {
        Turns::Place place(state->turns);
        if (!place.begin(state->flow->user(), Turns::Stage::Sending)) CO_TRY_VOID(co_await place);
        const std::size_t count = std::min(bytes.size(), BytesInTurn);
        state->left = BytesInTurn - count;
        CO_TRY_VOID(co_await state->lower->write(bytes.substr(0, count)));
        bytes.remove_prefix(count);
    }
    co_return {};
}

class FairStream final : public ByteStream {
public:
    explicit FairStream(FairPointer state) : state_(std::move(state)) {}
    ~FairStream() override { close(); }
    Task<std::size_t> read(std::span<char> buffer) override { return read_in_turn(state_, buffer); }
    Task<> write(std::string_view bytes) override {
        if (bytes.size() > state_->left) return write_in_turns(state_, bytes);
        state_->left -= bytes.size();  // an answer in the turn of its request
        return state_->lower->write(bytes);
    }
    Task<> end_writing() override { return state_->lower->end_writing(); }
    void close() override { state_->lower->close(); }

private:
    FairPointer state_;
};

}  // namespace

std::unique_ptr<ByteStream> fair_stream(Turns& turns, std::shared_ptr<Flow> flow, std::unique_ptr<ByteStream> lower) {
    return std::make_unique<FairStream>(std::make_shared<FairState>(turns, std::move(flow), std::move(lower)));
}

}  // namespace porthole::net

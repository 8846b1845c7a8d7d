// pipes.exe serve|open NAME...: the two halves of the relay that shows named pipes of the emulated host to one container. A pipe exists
// in one Wine server only, and every container has its own. "serve" runs in the container and serves the pipes' names there as long as
// the host has such pipes; "open" runs on the host and opens the host's pipe for each client. The runtime joins their standard streams
// (pipe_frames.h); NAME is a whole one, "\\.\pipe\app", and the two lists have the same order. "serve" says "ready" on standard error
// once its names are as they are on the host. Both end with their standard input, and all connections with them.
#include <windows.h>

#include <algorithm>
#include <cstdio>
#include <deque>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "winhost/tools/pipe_frames.h"

namespace {

using namespace porthole::winhost;
using Type = PipeFrameType;

constexpr DWORD LookInterval = 200;        ///< milliseconds between two looks for the host's pipes
constexpr DWORD ServerPause = 1000;        ///< so long a server may be between two instances of its pipe
constexpr DWORD BusyInterval = 500;        ///< between two looks whether the client of a busy pipe still waits
constexpr DWORD CancelInterval = 20;       ///< between two tries to end a read
constexpr std::size_t MostChannels = 128;  ///< of one container: their threads count against the host's limit
constexpr DWORD InstanceBuffer = 65536;

class Guard {
public:
    explicit Guard(SRWLOCK& lock) : lock_(lock) { AcquireSRWLockExclusive(&lock_); }
    ~Guard() { ReleaseSRWLockExclusive(&lock_); }
    Guard(const Guard&) = delete;

private:
    SRWLOCK& lock_;
};

template <class Payload>
void send(Type type, std::uint32_t channel, const Payload& payload) {
    static SRWLOCK lock = SRWLOCK_INIT;
    const std::string bytes = encode_pipe_frame(type, channel, payload);
    const Guard guard(lock);
    DWORD written = 0;
    for (std::size_t start = 0; start < bytes.size(); start += written)
        if (!WriteFile(GetStdHandle(STD_OUTPUT_HANDLE), bytes.data() + start, static_cast<DWORD>(bytes.size() - start), &written, nullptr))
            ExitProcess(1);
}

HANDLE start_thread(LPTHREAD_START_ROUTINE routine, void* argument) { return CreateThread(nullptr, 0, routine, argument, 0, nullptr); }

/// Overlapped, because a pipe opened otherwise lets a waiting read hold up every write. Windows' error, 0 if there was none.
template <class Start>
DWORD transfer(HANDLE pipe, DWORD& count, Start start) {
    OVERLAPPED overlapped{};
    overlapped.hEvent = CreateEventW(nullptr, TRUE, FALSE, nullptr);
    DWORD error = start(overlapped) ? NO_ERROR : GetLastError();
    // A message longer than the buffer is under way like any other.
    if (error == NO_ERROR || error == ERROR_IO_PENDING || error == ERROR_MORE_DATA)
        error = GetOverlappedResult(pipe, &overlapped, &count, TRUE) ? NO_ERROR : GetLastError();
    CloseHandle(overlapped.hEvent);
    return error;
}

DWORD read_pipe(HANDLE pipe, char* buffer, DWORD size, DWORD& count) {
    return transfer(pipe, count, [&](OVERLAPPED& overlapped) { return ReadFile(pipe, buffer, size, nullptr, &overlapped); });
}

DWORD write_pipe(HANDLE pipe, const std::string& bytes) {
    DWORD count = 0;
    return transfer(pipe, count, [&](OVERLAPPED& overlapped) {
        return WriteFile(pipe, bytes.data(), static_cast<DWORD>(bytes.size()), nullptr, &overlapped);
    });
}

/// One client: its end of a pipe here, and frames to and from the other half. Ends, and goes, once each half has said Close.
class Channel {
public:
    /// Of a client that has come for the pipe `number`.
    Channel(std::uint32_t id, HANDLE pipe, std::uint32_t number) : id_(id), number_(number), pipe_(pipe), messages_(true) {}
    /// To the pipe `name`, which is opened.
    Channel(std::uint32_t id, std::wstring name) : id_(id), name_(std::move(name)) {}

    void start() {
        if (const HANDLE thread = start_thread([](void* self) { return static_cast<Channel*>(self)->run(); }, this)) CloseHandle(thread);
    }
    void take(PipeFrame frame) {
        const Guard guard(lock_);
        if (frame.type == Type::Credit) {
            credit_.gain(frame.number());
        } else {
            waiting_ += pipe_frame_cost(frame.payload.size());
            if (waiting_ > 2 * PipeWindow) ExitProcess(3);  // the other half does not keep to its credit
            inbox_.push_back(std::move(frame));
        }
        WakeAllConditionVariable(&changed_);
    }

private:
    DWORD run();
    DWORD open();
    DWORD try_to_open();
    bool given_up() {
        const Guard guard(lock_);
        return std::any_of(inbox_.begin(), inbox_.end(), [](const PipeFrame& frame) { return frame.type == Type::Close; });
    }
    /// The pipe's bytes, until it ends.
    DWORD send_what_comes();
    /// Frames into the pipe, until Close. Its error.
    DWORD pass_on();
    DWORD pass_on(const PipeFrame& frame);
    PipeFrame next_frame() {
        const Guard guard(lock_);
        while (inbox_.empty()) SleepConditionVariableSRW(&changed_, &lock_, INFINITE, 0);
        PipeFrame frame = std::move(inbox_.front());
        inbox_.pop_front();
        waiting_ -= pipe_frame_cost(frame.payload.size());
        return frame;
    }
    /// How many bytes may be sent; 0 when nothing is to be read any more.
    DWORD wait_for_credit() {
        const Guard guard(lock_);
        while (!closing_ && (credit_.left() == 0 || !readable_)) SleepConditionVariableSRW(&changed_, &lock_, INFINITE, 0);
        return closing_ ? 0 : std::min(credit_.left(), LargestPipeFrame);
    }
    void set_closing() {
        const Guard guard(lock_);
        closing_ = true;
        WakeAllConditionVariable(&changed_);
    }

    bool is_of_client() const { return name_.empty(); }

    const std::uint32_t id_, number_ = 0;
    const std::wstring name_;
    HANDLE pipe_ = INVALID_HANDLE_VALUE;
    bool messages_ = false;  ///< what is written to the pipe has borders
    bool readable_ = true;
    PipeMessage message_;
    SRWLOCK lock_ = SRWLOCK_INIT;  ///< of the rest
    CONDITION_VARIABLE changed_ = CONDITION_VARIABLE_INIT;
    std::deque<PipeFrame> inbox_;
    std::uint32_t waiting_ = 0;  ///< the cost of what is in it
    PipeCredit credit_;
    bool closing_ = false;
};

/// The channels that are open, by number.
class Channels {
public:
    /// False for a number that is in use, and when there are too many.
    bool add(std::uint32_t id, std::unique_ptr<Channel> channel) {
        const Guard guard(lock_);
        if (channels_.size() >= MostChannels) return false;
        const auto [added, is_new] = channels_.try_emplace(id, std::move(channel));
        if (is_new) added->second->start();
        return is_new;
    }
    void remove(std::uint32_t id) {
        const Guard guard(lock_);
        channels_.erase(id);
    }
    void deliver(PipeFrame frame) {
        const Guard guard(lock_);
        const auto found = channels_.find(frame.channel);
        if (found != channels_.end()) found->second->take(std::move(frame));
    }

private:
    SRWLOCK lock_ = SRWLOCK_INIT;
    std::map<std::uint32_t, std::unique_ptr<Channel>> channels_;
} channels;

DWORD Channel::run() {
    if (is_of_client()) send(Type::Open, id_, number_);
    if (const DWORD error = is_of_client() ? NO_ERROR : open()) {
        send(Type::Close, id_, std::uint32_t{error});
    } else {
        const HANDLE reader = start_thread([](void* self) { return static_cast<Channel*>(self)->send_what_comes(); }, this);
        const DWORD end = reader ? pass_on() : DWORD{ERROR_NOT_ENOUGH_MEMORY};
        set_closing();
        // More than once: it may just be on its way into the next read.
        while (reader && WaitForSingleObject(reader, CancelInterval) == WAIT_TIMEOUT) CancelIoEx(pipe_, nullptr);
        if (!reader) send(Type::Close, id_, std::uint32_t{end});
        if (reader) CloseHandle(reader);
        // A server that disconnects takes back what was not read, one that closes its end leaves it to be read.
        if (is_of_client() && end == ERROR_PIPE_NOT_CONNECTED) DisconnectNamedPipe(pipe_);
        CloseHandle(pipe_);
    }
    channels.remove(id_);  // and with it this
    return 0;
}

DWORD Channel::try_to_open() {
    constexpr DWORD Accesses[] = {GENERIC_READ | GENERIC_WRITE, GENERIC_READ | FILE_WRITE_ATTRIBUTES, GENERIC_WRITE};
    for (const DWORD access : Accesses) {
        pipe_ = CreateFileW(name_.c_str(), access, 0, nullptr, OPEN_EXISTING, FILE_FLAG_OVERLAPPED, nullptr);
        readable_ = (access & GENERIC_READ) != 0;
        if (pipe_ != INVALID_HANDLE_VALUE || GetLastError() != ERROR_ACCESS_DENIED) break;
    }
    if (pipe_ == INVALID_HANDLE_VALUE) return GetLastError();
    DWORD kind = 0, mode = PIPE_READMODE_MESSAGE;
    messages_ = GetNamedPipeInfo(pipe_, &kind, nullptr, nullptr, nullptr) && (kind & PIPE_TYPE_MESSAGE) != 0;
    if (messages_) SetNamedPipeHandleState(pipe_, &mode, nullptr, nullptr);
    return NO_ERROR;
}

DWORD Channel::open() {
    for (const ULONGLONG begin = GetTickCount64(); !given_up();) {
        const DWORD error = try_to_open();
        if (error == ERROR_PIPE_BUSY)
            WaitNamedPipeW(name_.c_str(), BusyInterval);
        else if (error == ERROR_FILE_NOT_FOUND && GetTickCount64() - begin < ServerPause)
            Sleep(CancelInterval);
        else
            return error;
    }
    return ERROR_BROKEN_PIPE;
}

DWORD Channel::send_what_comes() {
    std::string buffer(LargestPipeFrame, 0);
    DWORD error = ERROR_BROKEN_PIPE;
    while (const DWORD size = wait_for_credit()) {
        DWORD count = 0;
        error = read_pipe(pipe_, buffer.data(), size, count);
        if (error != NO_ERROR && error != ERROR_MORE_DATA) break;
        {
            const Guard guard(lock_);
            credit_.spend(pipe_frame_cost(count));
        }
        send(error == ERROR_MORE_DATA ? Type::Part : Type::Data, id_, std::string_view(buffer.data(), count));
    }
    send(Type::Close, id_, std::uint32_t{error});
    return 0;
}

DWORD Channel::pass_on(const PipeFrame& frame) {
    if (!messages_) return frame.payload.empty() ? NO_ERROR : write_pipe(pipe_, frame.payload);
    switch (message_.add(frame)) {
        case PipeMessage::State::Incomplete:
            return NO_ERROR;
        case PipeMessage::State::Whole:
            return write_pipe(pipe_, message_.bytes());
        case PipeMessage::State::TooLong:
            return ERROR_BUFFER_OVERFLOW;
    }
    return NO_ERROR;
}

DWORD Channel::pass_on() {
    bool broken = false;
    for (;;) {
        const PipeFrame frame = next_frame();
        if (frame.type == Type::Close) return frame.number();
        if (!broken) {
            const DWORD error = pass_on(frame);
            if (error == ERROR_BUFFER_OVERFLOW) return error;
            broken = error != NO_ERROR;
            if (broken && !readable_) set_closing();  // the reader would not notice
        }
        std::uint32_t grant = 0;
        {
            const Guard guard(lock_);
            grant = credit_.taken(pipe_frame_cost(frame.payload.size()));
        }
        if (grant) send(Type::Credit, id_, grant);
    }
}

/// One name in the container.
class ServedPipe {
public:
    ServedPipe(std::uint32_t number, std::wstring name) : number_(number), name_(std::move(name)) {}

    /// Clients find it from now on, even while we come to serve them.
    void offer() {
        if (thread_) return;
        withdrawn_ = CreateEventW(nullptr, TRUE, FALSE, nullptr);
        instance_ = make_instance();
        thread_ = start_thread([](void* self) { return static_cast<ServedPipe*>(self)->accept(); }, this);
    }
    /// New clients do not find it; those that are there stay.
    void withdraw() {
        if (!thread_) return;
        SetEvent(withdrawn_);
        WaitForSingleObject(thread_, INFINITE);
        CloseHandle(thread_);
        CloseHandle(withdrawn_);
        thread_ = nullptr;
    }

private:
    HANDLE make_instance() const {
        const HANDLE pipe = CreateNamedPipeW(name_.c_str(), PIPE_ACCESS_DUPLEX | FILE_FLAG_OVERLAPPED,
                                             PIPE_TYPE_MESSAGE | PIPE_READMODE_MESSAGE | PIPE_WAIT, PIPE_UNLIMITED_INSTANCES,
                                             InstanceBuffer, InstanceBuffer, 0, nullptr);
        if (pipe == INVALID_HANDLE_VALUE) std::fprintf(stderr, "cannot serve %ls: error %lu\n", name_.c_str(), GetLastError());
        return pipe;
    }
    DWORD accept() {
        for (;;) {
            if (instance_ == INVALID_HANDLE_VALUE) {
                if (WaitForSingleObject(withdrawn_, ServerPause) == WAIT_OBJECT_0) return 0;
                instance_ = make_instance();
                continue;
            }
            if (!wait_for_client()) {
                CloseHandle(std::exchange(instance_, INVALID_HANDLE_VALUE));
                if (WaitForSingleObject(withdrawn_, 0) == WAIT_OBJECT_0) return 0;
                continue;
            }
            static LONG last = 0;
            const auto id = static_cast<std::uint32_t>(InterlockedIncrement(&last));
            const HANDLE connected = instance_;
            instance_ = make_instance();
            if (!channels.add(id, std::make_unique<Channel>(id, connected, number_))) CloseHandle(connected);
        }
    }
    /// False when the pipe is withdrawn, or the instance of no use.
    bool wait_for_client() const {
        OVERLAPPED overlapped{};
        overlapped.hEvent = CreateEventW(nullptr, TRUE, FALSE, nullptr);
        bool connected = ConnectNamedPipe(instance_, &overlapped) || GetLastError() == ERROR_PIPE_CONNECTED;
        if (!connected && GetLastError() == ERROR_IO_PENDING) {
            const HANDLE events[] = {overlapped.hEvent, withdrawn_};
            DWORD ignored = 0;
            if (WaitForMultipleObjects(2, events, FALSE, INFINITE) != WAIT_OBJECT_0) CancelIoEx(instance_, &overlapped);
            connected = GetOverlappedResult(instance_, &overlapped, &ignored, TRUE);
        }
        // One that came and went at once is a client, too: its connection is served to its end.
        connected |= GetLastError() == ERROR_NO_DATA;
        CloseHandle(overlapped.hEvent);
        return connected;
    }

    const std::uint32_t number_;
    const std::wstring name_;
    HANDLE instance_ = INVALID_HANDLE_VALUE, thread_ = nullptr, withdrawn_ = nullptr;
};

template <class Handle>
void read_frames(Handle handle) {
    std::string buffer(LargestPipeFrame, 0);
    PipeFrameReader frames;
    for (DWORD count = 0;
         !frames.broken() && ReadFile(GetStdHandle(STD_INPUT_HANDLE), buffer.data(), LargestPipeFrame, &count, nullptr) && count > 0;) {
        frames.add({buffer.data(), count});
        while (auto frame = frames.next()) handle(*std::move(frame));
    }
}

void serve(const std::vector<std::wstring>& names) {
    std::vector<std::unique_ptr<ServedPipe>> pipes;
    for (const std::wstring& name : names) pipes.push_back(std::make_unique<ServedPipe>(static_cast<std::uint32_t>(pipes.size()), name));
    std::vector<bool> known(names.size());
    read_frames([&](PipeFrame frame) {
        if (frame.type != Type::Present && frame.type != Type::Absent) return channels.deliver(std::move(frame));
        if (frame.channel >= pipes.size()) return;
        if (frame.type == Type::Present)
            pipes[frame.channel]->offer();
        else
            pipes[frame.channel]->withdraw();
        const bool news = !known[frame.channel];
        known[frame.channel] = true;
        if (news && std::find(known.begin(), known.end(), false) == known.end()) std::fputs("ready\n", stderr);
    });
}

/// Whether a server is there, without becoming its client. One that makes a new instance after each client may be absent for a moment.
DWORD WINAPI look_for_pipes(void* argument) {
    const auto& names = *static_cast<const std::vector<std::wstring>*>(argument);
    enum class State { Unknown, Present, Missed, Absent };
    std::vector<State> states(names.size(), State::Unknown);
    for (;; Sleep(LookInterval)) {
        for (std::uint32_t i = 0; i < names.size(); ++i) {
            const bool there = WaitNamedPipeW(names[i].c_str(), 1) || GetLastError() == ERROR_SEM_TIMEOUT;
            const State before = std::exchange(states[i], there                         ? State::Present
                                                          : states[i] == State::Present ? State::Missed
                                                                                        : State::Absent);
            if (there && before != State::Present && before != State::Missed) send(Type::Present, i, std::string_view());
            if (!there && (before == State::Missed || before == State::Unknown)) send(Type::Absent, i, std::string_view());
        }
    }
}

void open(std::vector<std::wstring> names) {
    if (const HANDLE thread = start_thread(look_for_pipes, &names)) CloseHandle(thread);
    read_frames([&](PipeFrame frame) {
        if (frame.type != Type::Open) return channels.deliver(std::move(frame));
        if (frame.number() >= names.size() || !channels.add(frame.channel, std::make_unique<Channel>(frame.channel, names[frame.number()])))
            send(Type::Close, frame.channel, std::uint32_t{ERROR_PIPE_BUSY});
    });
}

}  // namespace

int wmain(int count, wchar_t** words) {
    std::setvbuf(stderr, nullptr, _IONBF, 0);
    const std::wstring role = count > 1 ? words[1] : L"";
    const std::vector<std::wstring> names(words + std::min(count, 2), words + count);
    if (names.empty() || (role != L"serve" && role != L"open")) {
        std::fprintf(stderr, "usage: pipes.exe serve|open \\\\.\\pipe\\NAME...\n");
        return 2;
    }
    if (role == L"serve")
        serve(names);
    else
        open(names);
    ExitProcess(0);  // whatever the threads do
}

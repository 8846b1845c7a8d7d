#pragma once
#include <utility>

namespace porthole {

/// Owns a Windows handle. Windows only; needs no Windows header.
class Handle {
public:
    Handle() = default;
    explicit Handle(void* handle) : handle_(is_valid(handle) ? handle : nullptr) {}
    Handle(Handle&& other) noexcept : handle_(std::exchange(other.handle_, nullptr)) {}
    Handle& operator=(Handle&& other) noexcept {
        std::swap(handle_, other.handle_);
        return *this;
    }
    ~Handle() { close(); }

    void* get() const { return handle_; }
    explicit operator bool() const { return handle_ != nullptr; }
    void close();
    void* release() { return std::exchange(handle_, nullptr); }

private:
    /// Some functions report failure as INVALID_HANDLE_VALUE (-1), others as null.
    static bool is_valid(void* handle) { return handle && handle != reinterpret_cast<void*>(~0ull); }
    void* handle_ = nullptr;
};

}  // namespace porthole

#include <unistd.h>

#include "base/result.h"
#include "runtime/random.h"

namespace porthole {

void SystemRandom::fill() {
    static_assert(sizeof numbers_ <= 256);  // what one call may ask for
    CHECK(::getentropy(numbers_.data(), sizeof numbers_) == 0);
}

}  // namespace porthole

// SPDX-License-Identifier: MIT
pragma solidity ^0.8.28;

/// Spheres over a chequered floor with one light, shadows and reflections, in fixed-point integers (one is 2^32).
contract RayTracer {
    int256 private constant ONE = 1 << 32;
    /// Hits nearer than this are the ray's own surface.
    int256 private constant NEAR = ONE >> 10;
    int256 private constant FAR = ONE << 20;
    uint256 private constant BOUNCES = 3;

    struct Vector {
        int256 x;
        int256 y;
        int256 z;
    }

    struct Sphere {
        Vector centre;
        int256 radius;
        /// per colour, relative to ONE
        Vector colour;
        /// reflected share of the light, relative to ONE
        int256 mirror;
    }

    struct Hit {
        int256 distance;
        Vector normal;
        Vector colour;
        int256 mirror;
    }

    /// Three bytes per pixel, row by row.
    function render(uint256 width, uint256 height) external pure returns (bytes memory pixels) {
        Sphere[] memory spheres = scene();
        Vector memory eye = Vector(0, ONE, -4 * ONE);
        pixels = new bytes(width * height * 3);
        uint256 at = 0;
        for (uint256 row = 0; row < height; ++row) {
            for (uint256 column = 0; column < width; ++column) {
                int256 x = ((2 * int256(column) + 1) * ONE) / int256(width) - ONE;
                int256 y = ONE - ((2 * int256(row) + 1) * ONE) / int256(height);
                Vector memory colour = trace(spheres, eye, unit(Vector(x, y, 2 * ONE)));
                pixels[at++] = channel(colour.x);
                pixels[at++] = channel(colour.y);
                pixels[at++] = channel(colour.z);
            }
        }
    }

    function scene() private pure returns (Sphere[] memory spheres) {
        spheres = new Sphere[](4);
        spheres[0] = Sphere(Vector(0, ONE, 3 * ONE), ONE, Vector(ONE, ONE / 4, ONE / 4), ONE / 3);
        spheres[1] = Sphere(Vector(-2 * ONE, ONE / 2, 2 * ONE), ONE / 2, Vector(ONE / 4, ONE, ONE / 4), ONE / 5);
        spheres[2] = Sphere(Vector(2 * ONE, (3 * ONE) / 4, 2 * ONE), (3 * ONE) / 4, Vector(ONE / 4, ONE / 4, ONE), ONE / 2);
        spheres[3] = Sphere(Vector(ONE / 2, ONE / 4, ONE / 2), ONE / 4, Vector(ONE, ONE, ONE / 4), 0);
    }

    function trace(Sphere[] memory spheres, Vector memory origin, Vector memory direction) private pure returns (Vector memory colour) {
        Vector memory light = unit(Vector(-2 * ONE, 3 * ONE, -2 * ONE));
        int256 share = ONE;
        for (uint256 bounce = 0; bounce < BOUNCES; ++bounce) {
            Hit memory hit = nearest(spheres, origin, direction);
            if (hit.distance == FAR) return add(colour, scale(sky(direction), share));
            origin = add(origin, scale(direction, hit.distance));
            int256 brightness = dot(hit.normal, light);
            if (brightness < 0 || nearest(spheres, origin, light).distance < FAR) brightness = 0;
            brightness = ONE / 8 + (brightness * 7) / 8;
            colour = add(colour, scale(scale(hit.colour, brightness), times(share, ONE - hit.mirror)));
            share = times(share, hit.mirror);
            if (share < ONE / 64) return colour;
            direction = add(direction, scale(hit.normal, -2 * dot(direction, hit.normal)));
        }
    }

    function nearest(Sphere[] memory spheres, Vector memory origin, Vector memory direction) private pure returns (Hit memory hit) {
        hit.distance = FAR;
        for (uint256 i = 0; i < spheres.length; ++i) {
            Sphere memory sphere = spheres[i];
            int256 distance = meet(sphere, origin, direction);
            if (distance >= hit.distance) continue;
            Vector memory place = add(origin, scale(direction, distance));
            Vector memory normal = unit(add(place, scale(sphere.centre, -ONE)));
            hit = Hit(distance, normal, sphere.colour, sphere.mirror);
        }
        // The floor is y = 0.
        if (direction.y >= 0) return hit;
        int256 down = (-origin.y * ONE) / direction.y;
        if (down < NEAR || down >= hit.distance) return hit;
        Vector memory spot = add(origin, scale(direction, down));
        bool dark = ((spot.x >> 32) + (spot.z >> 32)) & 1 == 0;
        int256 grey = dark ? ONE / 5 : (4 * ONE) / 5;
        hit = Hit(down, Vector(0, ONE, 0), Vector(grey, grey, grey), ONE / 10);
    }

    /// FAR if the ray misses.
    function meet(Sphere memory sphere, Vector memory origin, Vector memory direction) private pure returns (int256) {
        Vector memory offset = add(sphere.centre, scale(origin, -ONE));
        int256 along = dot(offset, direction);
        int256 inside = times(sphere.radius, sphere.radius) - dot(offset, offset) + times(along, along);
        if (inside <= 0) return FAR;
        int256 half = root(inside);
        if (along - half > NEAR) return along - half;
        return along + half > NEAR ? along + half : FAR;
    }

    function sky(Vector memory direction) private pure returns (Vector memory) {
        int256 height = (direction.y + ONE) / 2;
        return Vector(ONE - height / 2, ONE - height / 3, ONE);
    }

    function channel(int256 value) private pure returns (bytes1) {
        int256 level = (value * 255) / ONE;
        return bytes1(uint8(uint256(level < 0 ? int256(0) : level > 255 ? int256(255) : level)));
    }

    function add(Vector memory a, Vector memory b) private pure returns (Vector memory) {
        return Vector(a.x + b.x, a.y + b.y, a.z + b.z);
    }

    function scale(Vector memory a, int256 factor) private pure returns (Vector memory) {
        return Vector(times(a.x, factor), times(a.y, factor), times(a.z, factor));
    }

    function dot(Vector memory a, Vector memory b) private pure returns (int256) {
        return (a.x * b.x + a.y * b.y + a.z * b.z) / ONE;
    }

    function unit(Vector memory a) private pure returns (Vector memory) {
        return scale(a, (ONE * ONE) / root(dot(a, a)));
    }

    function times(int256 a, int256 b) private pure returns (int256) {
        return (a * b) / ONE;
    }

    /// Square root of a fixed-point number by Newton's method from above.
    function root(int256 value) private pure returns (int256 guess) {
        int256 target = value * ONE;
        int256 next = ONE > value ? ONE : value;
        guess = next + 1;
        while (next < guess) {
            guess = next;
            next = (guess + target / guess) / 2;
        }
    }
}

"""Runs the job that is on standard input with Python's websockets. Prints READY, then `index text` for each message."""

import asyncio
import json
import sys

import websockets


async def run_connection(job, connection, on_subscribed):
    compression = "deflate" if job["compress"] else None
    async with websockets.connect(job["url"], compression=compression, max_size=None) as socket:
        params = {"room": connection["room"], "batch": connection["batch"], "since": 0}
        await socket.send(json.dumps({"id": connection["id"], "method": "subscribe", "params": params}))
        texts = []
        left = connection["count"]
        while left > 0:
            text = await socket.recv()
            data = json.loads(text)["data"]
            if isinstance(data, dict) and "error" in data:
                raise RuntimeError(text)
            if isinstance(data, dict) and data.get("subscribed"):
                on_subscribed()
                continue
            texts.append(text)
            left -= len(data) if isinstance(data, list) else 1
        return texts


async def main():
    job = json.load(sys.stdin)
    waiting = len(job["connections"])

    def on_subscribed():
        nonlocal waiting
        waiting -= 1
        if waiting == 0:
            print("READY", flush=True)

    results = await asyncio.gather(*(run_connection(job, connection, on_subscribed) for connection in job["connections"]))
    for index, texts in enumerate(results):
        for text in texts:
            sys.stdout.buffer.write(f"{index} {text}\n".encode())


asyncio.run(main())

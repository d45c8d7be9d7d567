// Starts the page while the server is away: it keeps its files, and nothing of the interface. The
// server puts their names, "kept", and their "version" before this.

const scope = "lessonkit " + registration.scope + " ";
const name = scope + version;
const addresses = kept.map((file) => new URL(file, registration.scope).href);

addEventListener("install", (event) => event.waitUntil((async () => {
	const cache = await caches.open(name);
	await cache.addAll(addresses.map((address) => new Request(address, { cache: "no-cache" })));
	await skipWaiting();
})()));

addEventListener("activate", (event) => event.waitUntil((async () => {
	for (const old of await caches.keys()) if (old.startsWith(scope) && old !== name) await caches.delete(old);
	await clients.claim();
})()));

addEventListener("fetch", (event) => {
	const { method, url } = event.request;
	if (method !== "GET" || !addresses.includes(url.replace(/[?#].*/, ""))) return;
	event.respondWith((async () =>
		await caches.match(url, { cacheName: name, ignoreSearch: true, ignoreVary: true }) ?? fetch(event.request))());
});

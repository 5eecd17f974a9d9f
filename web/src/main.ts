import { mount } from 'svelte'
import './app.css'
import App from './App.svelte'

// In a task of its own, because parsing the scripts was one already.
setTimeout(() => mount(App, { target: document.body }))
